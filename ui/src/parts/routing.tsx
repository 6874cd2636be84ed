/** Why an agent was chosen for a message, and the correction if that was wrong. */

import { useState } from "preact/hooks";
import { useAction } from "../state/action";
import { inUse, useAgents } from "../state/agents";
import { teach } from "../wire/agents";
import type { RoutingResponse } from "../wire/responses";
import { candidateWords, decisionWords, nameOf, percent } from "./agent_words";
import { Button } from "./button";
import { Select } from "./field";
import { tell, tellFailure } from "./toast";

interface Shape {
  routing: RoutingResponse;
  /** The message. */
  text: string;
  onTaught?: () => void;
}

export function RoutingReason({ routing, text, onTaught }: Shape) {
  const best = routing.candidates[0]?.score || 1;
  return (
    <div class="routing">
      <p>{decisionWords(routing)}</p>
      {routing.candidates.length > 0 && (
        <ol class="routing-list" aria-label="Agents that it may be for">
          {routing.candidates.map((each) => (
            <li key={each.agent}>
              <strong>{each.agent}</strong>
              {each.agent === routing.to && " (chosen)"}{" "}
              <span class="soft">
                {each.score < best && `${percent(each.score / best)} as near; `}
                {candidateWords(each)}
              </span>
            </li>
          ))}
        </ol>
      )}
      <Correction routing={routing} text={text} {...(onTaught && { onTaught })} />
    </div>
  );
}

/** What is taught here holds from the next message on. */
function Correction({ routing, text, onTaught }: Shape) {
  const { answer } = useAgents();
  const near = routing.candidates.map((each) => nameOf(each.agent));
  const names = [...new Set([...near, ...inUse(answer)])].filter((name) => name !== nameOf(routing.to));
  const [wanted, setWanted] = useState("");
  const { busy, run } = useAction();
  const chosen = wanted || names[0];
  if (!chosen) return null;
  const correct = () =>
    teach(chosen, text)
      .then(() => tell(`Messages like this go to ${chosen} from now on.`))
      .then(onTaught)
      .catch(tellFailure);
  return (
    <div class="routing-correction">
      <Select label="Should have been" value={chosen} onChange={setWanted} options={names.map((name) => ({ value: name, label: name }))} />
      <Button disabled={busy} onClick={() => void run(correct)}>
        Teach
      </Button>
    </div>
  );
}
