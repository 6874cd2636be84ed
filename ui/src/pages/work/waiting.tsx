/** Tasks that a person decides about: is it done, is it not, or is it not needed? */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Tag } from "../../parts/tag";
import { tell, tellFailure } from "../../parts/toast";
import { criterionWords, evidenceTone } from "../../parts/work_words";
import { useAction } from "../../state/action";
import { actOn } from "../../wire/works";
import type { Undecided } from "./details";

interface Shape {
  work: string;
  asked: readonly Undecided[];
  /** Whether it can be answered now. */
  allowed: boolean;
}

export function Waiting({ work, asked, allowed }: Shape) {
  return (
    <section class="question" aria-label="Waiting for you">
      <h2>Waiting for you</h2>
      {!allowed && <p class="soft small">The work asks you when there is nothing else to do.</p>}
      <ul class="work-asked">
        {asked.map((each) => (
          <li key={each.task.number}>
            <Asked work={work} asked={each} allowed={allowed} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Asked({ work, asked: { task, newest }, allowed }: { work: string; asked: Undecided; allowed: boolean }) {
  const [rejecting, setRejecting] = useState(false);
  const [why, setWhy] = useState("");
  const { busy, run } = useAction();
  const decide = (verb: "accept" | "reject" | "waive", words: string) => {
    const message = why.trim() && `#${task.number} ${task.title}: ${why.trim()}`;
    void run(() => actOn(work, "resume", { [verb]: [task.number], message }).then(() => tell(words)).catch(tellFailure));
  };
  return (
    <>
      <div>
        <strong>
          #{task.number} {task.title}
        </strong>{" "}
        {newest && <Tag tone={evidenceTone(newest.state)}>{newest.state}</Tag>}
        {task.status === "failed" && <Tag tone="bad">given up</Tag>}
      </div>
      {task.criterion && <p class="small">Done when {criterionWords({ ...task.criterion })}.</p>}
      {task.result && <p class="soft small kept">The agent says: {task.result}</p>}
      {newest && newest.state === "refuted" && <p class="soft small kept">Seen: {newest.proof}</p>}
      {allowed && rejecting && (
        <form
          class="question-deny"
          onSubmit={(event) => {
            event.preventDefault();
            decide("reject", "Rejected. The work goes on.");
          }}
        >
          <input
            ref={(input) => input?.focus()}
            class="input"
            aria-label="What is wrong"
            placeholder="What is wrong (optional)"
            value={why}
            maxLength={2000}
            onInput={(event) => setWhy(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && setRejecting(false)}
          />
          <Button kind="danger" type="submit" disabled={busy}>
            Reject
          </Button>
          <Button onClick={() => setRejecting(false)}>Back</Button>
        </form>
      )}
      {allowed && !rejecting && (
        <div class="row">
          <Button small kind="main" disabled={busy} aria-label={`Accept #${task.number}`} onClick={() => decide("accept", "Accepted. The work goes on.")}>
            Accept
          </Button>
          <Button small disabled={busy} aria-label={`Reject #${task.number}`} onClick={() => setRejecting(true)}>
            Reject…
          </Button>
          <Button small disabled={busy} aria-label={`Waive #${task.number}`} title="Do without it" onClick={() => decide("waive", "Waived. The work goes on.")}>
            Waive
          </Button>
        </div>
      )}
    </>
  );
}
