/** The question whether a call may run, with every answer there is. */

import { useId, useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { moment } from "../../parts/moment";
import type { OpenSession } from "../../state/session";
import type { Approval } from "../../state/view";

const PATIENCE = 4000;

export function Question({ approval, tool, session }: { approval: Approval; tool: string; session: OpenSession }) {
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState("");
  const [sent, setSent] = useState(false);
  const field = useId();
  const answer = (allowed: boolean, lasting = "once") => {
    setSent(true);
    // When the answer was not taken, another one can be given.
    setTimeout(() => setSent(false), PATIENCE);
    session.answer(approval.id, allowed, lasting, reason.trim());
  };
  return (
    <div class="question">
      <p>
        May <code>{tool}</code> run? <span class="soft">{sentence(approval.question)}</span>
      </p>
      {approval.scope && (
        <p class="soft small">
          A lasting answer covers: <code>{approval.scope}</code>
        </p>
      )}
      {approval.expiresAt && <p class="soft small">It can be answered until {moment(approval.expiresAt)}.</p>}
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
          {approval.scope && (
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

/** What was answered, in a few words; empty when nothing is to be said. */
export function answered(approval: Approval | null): string {
  const answer = approval?.answer;
  if (!answer) return "";
  if (!answer.allowed) return answer.reason ? `denied: ${answer.reason}` : "denied";
  return { session: "allowed for this session", always: "allowed always" }[answer.lasting] ?? "allowed once";
}
