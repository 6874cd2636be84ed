/** What was decided about calls, why, and by whom. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Choices } from "../../parts/choices";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { href } from "../../router";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { JudgementList, JudgementResponse } from "../../wire/responses";
import { argumentsOf, decider, decisionLook } from "./said";

const PAGE = 50;
const MOST = 1000;
const TELLING: ReadonlySet<string> = new Set(["approval_request", "approval_resolved", "tool_call", "tool_result", "catch_up"]);
const SHOWN = [
  { value: "", label: "All" },
  { value: "allow", label: "Allowed" },
  { value: "ask", label: "Asked" },
  { value: "deny", label: "Denied" },
];

export function Log({ titleOf }: { titleOf: (id: string) => string }) {
  const [decision, setDecision] = useState("");
  const [limit, setLimit] = useState(PAGE);
  const { answer, error, again } = useAsked(
    (signal) => api.get<JudgementList>("/api/approvals/log", { limit }, signal),
    [limit],
  );
  useFresh(TELLING, again);
  const shown = answer?.log.filter((entry) => !decision || entry.decision === decision) ?? [];
  const full = answer !== null && answer.log.length >= limit && limit < MOST;
  return (
    <section aria-label="Decisions">
      <header class="section-head">
        <h2>Decisions</h2>
        {answer && answer.log.length > 0 && (
          <Choices label="Which decisions are shown" options={SHOWN} chosen={decision} onChoose={setDecision} />
        )}
      </header>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && shown.length === 0 && (
        <p class="soft">
          {answer.log.length > 0
            ? "No recent decisions of this kind."
            : "No decisions yet. Every tool call is recorded here."}
        </p>
      )}
      {shown.length > 0 && (
        <ol class="rows">
          {shown.map((entry, index) => (
            <Entry key={`${entry.tool_call_id}-${entry.at}-${index}`} entry={entry} title={titleOf(entry.session_id)} />
          ))}
        </ol>
      )}
      {full && (
        <p class="approvals-more">
          <Button onClick={() => setLimit(Math.min(MOST, limit * 4))}>Show older decisions</Button>
        </p>
      )}
    </section>
  );
}

function Entry({ entry, title }: { entry: JudgementResponse; title: string }) {
  const look = decisionLook(entry.decision);
  return (
    <li class="judgement">
      <Tag tone={look.tone}>{look.words}</Tag>
      <div class="grow">
        <div class="judgement-call">
          <code>{entry.tool}</code>
          <span class="clip soft">{argumentsOf(entry.args)}</span>
        </div>
        <div class="soft small">
          {decider(entry.who)}: {entry.why}
        </div>
        <div class="soft small">
          <a href={href("chat", entry.session_id)}>{title}</a>, <Time at={entry.at} />
        </div>
      </div>
    </li>
  );
}
