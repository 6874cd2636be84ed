/** One work: where it stands, what waits for a person, its plan, and what came of it. */

import { BudgetBars } from "../../parts/budget_bars";
import { Card } from "../../parts/card";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Icon } from "../../parts/icon";
import { PlanAnswer } from "../../parts/plan_answer";
import { Time } from "../../parts/time";
import { forecastWords, patchWords, pauseWords } from "../../parts/work_words";
import { href } from "../../router";
import { useHead } from "../../shell/header";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { Drift, Plan, Scope, WorkDetailsResponse } from "../../wire/responses";
import { Acts } from "./acts";
import { doable, isOpen, proposalOf, undecided } from "./details";
import { Report } from "./report";
import { Standing } from "./standing";
import { Tree } from "./tree";
import { Waiting } from "./waiting";

const TELLING: ReadonlySet<string> = new Set([
  "work_phase", "plan_ready", "evidence", "stuck", "task_update", "done", "stopped", "limit", "error", "catch_up",
]);

export function One({ id }: { id: string }) {
  const { answer, error, again } = useAsked(
    (signal) => api.get<WorkDetailsResponse>(`/api/works/${encodeURIComponent(id)}`, {}, signal),
    [id],
  );
  useFresh(TELLING, again, answer?.work.session_id);
  useHead("Work");
  return (
    <>
      <a class="row" href={href("work")}>
        <Icon name="left" />
        All works
      </a>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer && <Shown found={answer} />}
    </>
  );
}

function Shown({ found }: { found: WorkDetailsResponse }) {
  const { work, tasks, budget, drift, plans } = found;
  const can = doable(found);
  const proposal = proposalOf(found);
  // While it goes on, what was refuted is the agent's to mend.
  const asked = undecided(found).filter(({ newest }) => can.judge || newest?.state === "claimed");
  return (
    <>
      <Goal found={found} />
      {can.plan && proposal && <Proposal found={found} proposal={proposal} />}
      {asked.length > 0 && isOpen(work) && <Waiting work={work.id} asked={asked} allowed={can.judge} />}
      <Card title={work.plan_version ? `Plan v${work.plan_version}` : "Plan"}>
        {tasks.length === 0 ? <p class="soft">The plan is not made yet.</p> : <Tree found={found} />}
        {plans.length > 0 && <Versions plans={plans} />}
      </Card>
      {(drift.paths.length > 0 || drift.hosts.length > 0) && <Outside drift={drift} />}
      {budget.length > 0 && (
        <Card title="Budget">
          <BudgetBars lines={budget} />
        </Card>
      )}
      <Report work={work} />
    </>
  );
}

function Goal({ found }: { found: WorkDetailsResponse }) {
  const { work, summary, forecast } = found;
  const open = isOpen(work);
  return (
    <section class="card" aria-label="Goal">
      <div class="card-body stack">
        <h2 class="work-goal kept">{work.goal}</h2>
        <div class="row">
          <Standing work={work} />
          <span class="soft small">
            {summary}, changed <Time at={work.updated_at} />
          </span>
          <a class="small" href={href("chat", work.session_id)}>
            Open the chat
          </a>
        </div>
        {work.pause && !proposalOf(found) && (
          <div class="note work-note" role="status">
            <Icon name="warning" />
            <div class="grow">
              <strong>Paused: {pauseWords(work.pause)}.</strong>
              {work.note && <p class="kept">{work.note}</p>}
            </div>
          </div>
        )}
        {open && forecast.tasks > 0 && (
          <p class="soft small">
            {work.plan_version ? "What is left may take" : "It may take"} {forecastWords(forecast)}.
          </p>
        )}
        <Bounds scope={work.scope} />
        {open && <Acts found={found} />}
      </div>
    </section>
  );
}

/** Where the work may write and whom it may reach, if that was said. */
function Bounds({ scope }: { scope: Scope }) {
  if (scope.paths.length === 0 && scope.hosts.length === 0) return null;
  return (
    <dl class="facts">
      {scope.paths.length > 0 && (
        <>
          <dt>May write</dt>
          <dd>{scope.paths.join(", ")}</dd>
        </>
      )}
      {scope.hosts.length > 0 && (
        <>
          <dt>May reach</dt>
          <dd>{scope.hosts.join(", ")}</dd>
        </>
      )}
    </dl>
  );
}

function Proposal({ found, proposal }: { found: WorkDetailsResponse; proposal: Plan }) {
  const titles = new Map(found.tasks.map((task) => [task.number, task.title]));
  return (
    <section class="question" aria-label="Proposed change of the plan">
      <h2>Proposed change of the plan</h2>
      <p class="kept">{proposal.reason}</p>
      <ul class="work-patch">
        {patchWords(proposal.tasks, (task) => titles.get(task) ?? "").map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <PlanAnswer work={found.work.id} change />
    </section>
  );
}

function Versions({ plans }: { plans: readonly Plan[] }) {
  return (
    <details class="fold work-versions">
      <summary>Versions of the plan</summary>
      <ul>
        {plans.map((plan, index) => (
          <li key={index}>
            v{plan.version}: {plan.state}
            {plan.by && ` by ${plan.by}`}, <Time at={plan.at} />
            {plan.reason && <span class="soft">. {plan.reason}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Outside({ drift }: { drift: Drift }) {
  return (
    <Card title="Outside the scope">
      <p class="soft small">Written or reached although no task of the plan names it:</p>
      <ul class="work-outside">
        {[...drift.paths, ...drift.hosts].map((each) => (
          <li key={each} class="mono">
            {each}
          </li>
        ))}
      </ul>
    </Card>
  );
}
