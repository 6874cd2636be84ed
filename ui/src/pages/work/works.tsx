/** All works, those changed last first. */

import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Time } from "../../parts/time";
import { DEEP } from "../../parts/work_words";
import { href } from "../../router";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { WorkList, WorkResponse } from "../../wire/responses";
import { Standing } from "./standing";

const MOST = 200;
const TELLING: ReadonlySet<string> = new Set(["work_phase", "evidence", "task_update", "catch_up"]);

export function Works() {
  const { answer, error, again } = useAsked((signal) => api.get<WorkList>("/api/works", { limit: MOST }, signal), []);
  useFresh(TELLING, again);
  return (
    <>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer?.works.length === 0 && <None />}
      {answer && answer.works.length > 0 && (
        <ul class="rows">
          {answer.works.map((work, index) => (
            <Row key={work.id} work={work} summary={answer.summaries[index] ?? ""} />
          ))}
        </ul>
      )}
    </>
  );
}

function Row({ work, summary }: { work: WorkResponse; summary: string }) {
  return (
    <li class="work-row">
      <div class="lead">
        <a class="work-goal" href={href("work", work.id)}>
          {work.goal}
        </a>
        <div class="soft small">
          {summary}, changed <Time at={work.updated_at} />
        </div>
      </div>
      <Standing work={work} />
    </li>
  );
}

function None() {
  return (
    <Empty icon="work" title="No works yet.">
      <p>Switch “Deep work” on in a chat and give the agent a goal. It will {DEEP}.</p>
      <a class="button button-main" href={href("chat")}>
        Start a chat
      </a>
    </Empty>
  );
}
