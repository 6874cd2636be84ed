/** One thing that was learned, or was not and why. */

import { Button } from "../../parts/button";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { tell, tellFailure } from "../../parts/toast";
import { href } from "../../router";
import { useAction } from "../../state/action";
import { api } from "../../wire/api";
import type { LearnedResponse } from "../../wire/responses";
import { canUndo, KINDS, usesWords } from "./words";

interface Shape {
  learned: LearnedResponse;
  titleOf: (id: string) => string;
  onChange: () => void;
}

export function Row({ learned, titleOf, onChange }: Shape) {
  const { number, kind, state, text, quote, reason, session_id: session, memory_id: memory, at } = learned;
  const { busy, run } = useAction();
  const undo = () =>
    api
      .post(`/api/learned/${number}/undo`)
      .then(() => {
        tell(state === "new" ? "Forgotten." : "Back in use.");
        onChange();
      })
      .catch(tellFailure);
  return (
    <li class="learned-row">
      <div class="lead learned-lines">
        <p class="kept">{text}</p>
        {quote && <blockquote class="learned-quote kept">{quote}</blockquote>}
        {reason && <p class="small kept">{reason}</p>}
        <div class="row small soft">
          <Tag>{KINDS[kind]}</Tag>
          <Time at={at} />
          {session && (
            <a class="clip learned-session" href={href("chat", session)}>
              {titleOf(session)}
            </a>
          )}
          {memory !== null && <a href={href("memory", String(memory))}>Memory #{memory}</a>}
          <span>{usesWords(learned)}</span>
        </div>
      </div>
      {canUndo(learned, Date.now()) && (
        <Button small icon="retry" disabled={busy} aria-label={`Undo: ${text.slice(0, 80)}`} onClick={() => void run(undo)}>
          Undo
        </Button>
      )}
    </li>
  );
}
