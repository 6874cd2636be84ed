/** The question whether a call may run, with every answer there is. */

import { useId, useState } from "preact/hooks";
import { askToNotify, mayAsk } from "../state/notify";
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
        Allow <code>{tool}</code>? <span class="soft">{sentence(asked.question)}</span>
      </p>
      {asked.scope && (
        <p class="soft small">
          “For this session” and “Always” cover: <code>{asked.scope}</code>
        </p>
      )}
      {asked.expiresAt && <p class="soft small">Expires {moment(asked.expiresAt)}.</p>}
      {denying ? (
        <form
          class="question-deny"
          onSubmit={(event) => {
            event.preventDefault();
            answer(false);
          }}
        >
          <label class="unseen" for={field}>
            Reason for the model
          </label>
          <input
            id={field}
            ref={(input) => input?.focus()}
            class="input"
            placeholder="Reason for the model (optional)"
            value={reason}
            maxLength={2000}
            onInput={(event) => setReason(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && setDenying(false)}
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
          {mayAsk.value && (
            <Button kind="quiet" onClick={() => void askToNotify()}>
              Notify me next time
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

function sentence(text: string): string {
  return text ? `Reason: ${text}${/[.!?]$/.test(text) ? "" : "."}` : "";
}
