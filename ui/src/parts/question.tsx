/** The question whether a call may run, with every answer there is. */

import { useId, useState } from "preact/hooks";
import { Button } from "./button";
import { moment } from "./moment";

const PATIENCE = 4000;

/** What is asked. */
export interface Asked {
  question: string;
  /** What a lasting answer would cover; empty when only this call can be allowed. */
  scope: string;
  expiresAt: string | null;
}

/** How it is answered; whoever hands this over tells what went wrong. */
export type OnAnswer = (allowed: boolean, lasting: string, reason: string) => void;

export function Question({ asked, tool, onAnswer }: { asked: Asked; tool: string; onAnswer: OnAnswer }) {
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const [sent, setSent] = useState(false);
  const field = useId();
  const answer = (allowed: boolean, lasting = "once") => {
    setSent(true);
    // When the answer was not taken, another one can be given.
    setTimeout(() => setSent(false), PATIENCE);
    onAnswer(allowed, lasting, reason.trim());
  };
  return (
    <div class="question">
      <p>
        May <code>{tool}</code> run? <span class="soft">{sentence(asked.question)}</span>
      </p>
      {asked.scope && (
        <p class="soft small">
          A lasting answer covers: <code>{asked.scope}</code>
        </p>
      )}
      {asked.expiresAt && <p class="soft small">It can be answered until {moment(asked.expiresAt)}.</p>}
      {denying ? (
        <form
          class="question-deny"
          onSubmit={(event) => {
            event.preventDefault();
            answer(false);
          }}
        >
          <label class="unseen" for={field}>
            Why not? The model reads it.
          </label>
          <input
            id={field}
            ref={(input) => input?.focus()}
            class="input"
            placeholder="Why not? The model reads it. May stay empty."
            value={reason}
            maxLength={2000}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
          <Button kind="danger" type="submit" disabled={sent}>
            Deny
          </Button>
          <Button onClick={() => setDenying(false)}>Back</Button>
        </form>
      ) : (
        <div class="row">
          <Button kind="main" disabled={sent} onClick={() => answer(true)}>
            Allow once
          </Button>
          {asked.scope && (
            <>
              <Button disabled={sent} onClick={() => answer(true, "session")}>
                For this session
              </Button>
              <Button disabled={sent} onClick={() => answer(true, "always")}>
                Always
              </Button>
            </>
          )}
          <Button kind="danger" disabled={sent} onClick={() => setDenying(true)}>
            Deny…
          </Button>
        </div>
      )}
    </div>
  );
}

function sentence(text: string): string {
  return text ? `It is asked because ${text}${/[.!?]$/.test(text) ? "" : "."}` : "";
}
