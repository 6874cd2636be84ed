/** A call that waits for an answer, with everything needed to give it. */

import { spelled } from "../../parts/brief";
import { Code } from "../../parts/code";
import { Question } from "../../parts/question";
import { Time } from "../../parts/time";
import { tell, tellFailure } from "../../parts/toast";
import { href } from "../../router";
import { approvals } from "../../state/activity";
import { api } from "../../wire/api";
import type { ApprovalView } from "../../wire/responses";

export function OpenQuestion({ approval, title }: { approval: ApprovalView; title: string }) {
  const answer = async (allowed: boolean, lasting: string, reason: string) => {
    try {
      await api.post(`/api/approvals/${encodeURIComponent(approval.id)}`, { allowed, lasting, reason });
    } catch (error) {
      tellFailure(error);
      return;
    }
    tell(allowed ? `${approval.tool} allowed.` : `${approval.tool} denied.`);
    approvals.value = approvals.value.filter((each) => each.id !== approval.id);
  };
  const asked = { question: approval.question, scope: approval.scope, expiresAt: approval.expires_at };
  return (
    <article class="card open-question" aria-label={`Allow ${approval.tool}?`}>
      <header class="card-head">
        <a class="clip" href={href("chat", approval.session_id)}>
          {title}
        </a>
        <span class="soft small">
          <Time at={approval.asked_at} />
        </span>
      </header>
      <div class="card-body stack">
        <Code {...spelled(approval.input)} />
        <Question asked={asked} tool={approval.tool} onAnswer={(...said) => void answer(...said)} />
      </div>
    </article>
  );
}
