/** The rules that a session sees: what holds, what could, and what the gate enforces of it. */

import { Button, IconButton } from "../../parts/button";
import { Failure } from "../../parts/failure";
import { Tag } from "../../parts/tag";
import { tellFailure } from "../../parts/toast";
import { useAsked, type Asked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { RuleList, RuleResponse } from "../../wire/responses";

const CHANGING: ReadonlySet<string> = new Set(["rule"]);

/** The rules of a session, asked for again when one changes; before it has begun, the owner's. */
export function useRules(session: string, begun: boolean): Asked<RuleList> {
  const asked = useAsked(
    (signal) => api.get<RuleList>("/api/rules", { session_id: begun ? session : null }, signal),
    [session, begun],
  );
  useFresh(CHANGING, asked.again);
  if (begun || !asked.answer) return asked;
  const everywhere = asked.answer.rules.filter((rule) => rule.scope === "owner");
  return { ...asked, answer: { ...asked.answer, rules: everywhere } };
}

/** The suggestions among them. */
export function suggested(asked: Asked<RuleList>): readonly RuleResponse[] {
  return asked.answer?.rules.filter((rule) => rule.state === "suggested") ?? [];
}

export function RulePanel({ asked, onClose }: { asked: Asked<RuleList>; onClose: () => void }) {
  const { answer, error, again } = asked;
  const active = answer?.rules.filter((rule) => rule.state === "active") ?? [];
  const waiting = suggested(asked);
  const used = active.reduce((sum, rule) => sum + rule.tokens, 0);
  return (
    <aside class="tasks" aria-label="Rules">
      <header class="tasks-head">
        <h2>Rules</h2>
        <IconButton icon="close" label="Close the rules" small onClick={onClose} />
      </header>
      {error !== null && <Failure error={error} onRetry={again} />}
      {answer && active.length === 0 && (
        <p class="soft">None yet. Pin a message of yours, or select a part of it first.</p>
      )}
      {active.length > 0 && (
        <>
          <p class="soft small">
            In every request: {used} of at most {answer?.most_tokens} tokens.
          </p>
          <Listed rules={active} onDone={again} />
        </>
      )}
      {waiting.length > 0 && (
        <>
          <h3>Suggested</h3>
          <Listed rules={waiting} onDone={again} />
        </>
      )}
    </aside>
  );
}

function Listed({ rules, onDone }: { rules: readonly RuleResponse[]; onDone: () => void }) {
  return (
    <ul class="rules">
      {rules.map((rule) => (
        <li key={rule.id} class="rule">
          <span class="rule-text">{rule.text}</span>
          {(rule.scope === "owner" || rule.enforced.length > 0) && (
            <span class="row">
              {rule.scope === "owner" && <Tag>all sessions</Tag>}
              {rule.enforced.length > 0 && <Tag tone="good">enforced</Tag>}
            </span>
          )}
          {rule.offer.length > 0 && <span class="soft small">The gate could enforce: {rule.offer.join(", ")}</span>}
          <Choices rule={rule} onDone={onDone} />
        </li>
      ))}
    </ul>
  );
}

function Choices({ rule, onDone }: { rule: RuleResponse; onDone: () => void }) {
  const change = (json: object) =>
    void api.patch(`/api/rules/${rule.id}`, json).then(onDone).catch(tellFailure);
  if (rule.state === "suggested") {
    return (
      <span class="row">
        <Button small icon="pin" onClick={() => change({ state: "active" })}>
          Pin
        </Button>
        <Button small kind="quiet" onClick={() => change({ state: "dismissed" })}>
          Dismiss
        </Button>
      </span>
    );
  }
  return (
    <span class="row">
      {rule.offer.length > 0 && (
        <Button small icon="approvals" onClick={() => change({ enforced: true })}>
          Also enforce
        </Button>
      )}
      <Button small kind="quiet" onClick={() => change({ state: "lifted" })}>
        Lift
      </Button>
    </span>
  );
}
