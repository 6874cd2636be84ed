/** A work as the chat shows it: what it tells its turns, what was checked, and what it waits for. */

import { Icon } from "../../parts/icon";
import { memo } from "../../parts/memo";
import { PlanAnswer } from "../../parts/plan_answer";
import { Tag } from "../../parts/tag";
import { treeOf } from "../../parts/task_tree";
import { evidenceTone, findingWords, headline } from "../../parts/work_words";
import { href } from "../../router";
import type { Checked, Turn, WaitingPlan, WorkState } from "../../state/view";
import { Branch } from "./tasks";

/** What a work has said to its next turn, or one agent to another: nobody's message. */
export const OwnPrompt = memo(function OwnPrompt({ turn }: { turn: Turn }) {
  const [first, rest] = headline(turn.prompt);
  const line = (
    <>
      <Tag tone="accent">
        <Icon name={turn.origin === "work" ? "work" : "agent"} />
        {turn.origin === "work" ? "Work" : "Agent"}
      </Tag>
      <span>{first}</span>
    </>
  );
  if (!rest) return <p class="aside aside-line work-prompt">{line}</p>;
  return (
    <details class="aside work-prompt">
      <summary>{line}</summary>
      <p class="kept">{rest}</p>
    </details>
  );
});

export const CheckedLine = memo(function CheckedLine({ item }: { item: Checked }) {
  const states = item.findings.map((each) => each.state);
  return (
    <details class="aside">
      <summary>
        <Icon name={states.includes("refuted") ? "warning" : "check"} />
        {item.findings.length === 1 ? "1 task checked" : `${item.findings.length} tasks checked`}: {findingWords(states)}
      </summary>
      <ul>
        {item.findings.map((each) => (
          <li key={each.task}>
            #{each.task} <Tag tone={evidenceTone(each.state)}>{each.state}</Tag> <span class="work-proof">{each.proof}</span>
          </li>
        ))}
      </ul>
      <a href={href("work", item.work)}>Show the work</a>
    </details>
  );
});

export function PlanQuestion({ plan }: { plan: WaitingPlan }) {
  const change = plan.reason !== "";
  return (
    <section class="question" aria-label={change ? "Proposed change of the plan" : "Plan that waits for your approval"}>
      <p>
        <strong>{change ? "Approve this change of the plan?" : `Approve plan v${plan.version}?`}</strong>{" "}
        <span class="soft">{change ? plan.reason : plan.forecast}</span>
      </p>
      {!change && (
        <div class="plan-tasks" tabIndex={0} role="group" aria-label="Tasks of the plan">
          <Branch nodes={treeOf(plan.tasks)} />
        </div>
      )}
      <PlanAnswer key={plan.version} work={plan.work} change={change}>
        <a class="button" href={href("work", plan.work)}>
          Open
        </a>
      </PlanAnswer>
    </section>
  );
}

const ASKING: Readonly<Record<string, string>> = {
  question: "The work has a question. Your answer lets it go on.",
  stuck: "The work does not get on. Tell it what to do, or resume it.",
  limit: "The work has reached a limit.",
  person: "The work is paused. A message lets it go on.",
};

/** What a work that is paused waits for. */
export function WorkHint({ work }: { work: WorkState }) {
  return (
    <div class="work-hint small" role="status">
      <Icon name="work" />
      <div class="grow">
        <strong>{ASKING[work.pause ?? ""] ?? "The work is paused."}</strong>{" "}
        <a href={href("work", work.id)}>{work.pause === "limit" ? "Raise and resume" : "Open the work"}</a>
        {work.note && work.pause !== "person" && (
          <p class="work-hint-note kept" tabIndex={0}>
            {work.note}
          </p>
        )}
      </div>
    </div>
  );
}
