/** The tasks of all sessions: what there is to do, what is being done, and what came of it. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Choices } from "../../parts/choices";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { STATUSES } from "../../parts/task_tree";
import { Time } from "../../parts/time";
import { href } from "../../router";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { useTitles } from "../../state/session_titles";
import { api } from "../../wire/api";
import type { TaskList, TaskResponse } from "../../wire/responses";
import { counted, forestOf, type Grove } from "./forest";
import { Branch } from "./task";
import "./tasks.css";

const PAGE = 500;
const MOST = 1000;
const TELLING: ReadonlySet<string> = new Set(["task_update", "catch_up"]);

export default function Tasks() {
  const [status, setStatus] = useState("");
  const [limit, setLimit] = useState(PAGE);
  const titleOf = useTitles();
  const { answer, error, again } = useAsked(
    (signal) => api.get<TaskList>("/api/tasks", { limit }, signal),
    [limit],
  );
  useFresh(TELLING, again);
  const tasks = answer?.tasks ?? [];
  const forest = forestOf(tasks, status);
  return (
    <div class="page">
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer && tasks.length === 0 && <None />}
      {tasks.length > 0 && (
        <Choices label="Which tasks are shown" options={options(tasks)} chosen={status} onChoose={setStatus} />
      )}
      {tasks.length > 0 && forest.length === 0 && <p class="soft">No task is {STATUSES[status]?.words}.</p>}
      {forest.map((grove) => (
        <Session key={grove.session} grove={grove} title={titleOf(grove.session)} status={status} />
      ))}
      {answer && answer.next !== null && limit < MOST && (
        <Button onClick={() => setLimit(MOST)}>Show older tasks</Button>
      )}
    </div>
  );
}

function options(tasks: readonly TaskResponse[]) {
  const counts = counted(tasks);
  const each = Object.entries(STATUSES).map(([value, { words }]) => ({
    value,
    label: words[0]!.toUpperCase() + words.slice(1),
    count: counts.get(value) ?? 0,
  }));
  return [{ value: "", label: "All", count: tasks.length }, ...each];
}

function Session({ grove, title, status }: { grove: Grove; title: string; status: string }) {
  return (
    <section class="grove" aria-label={`Tasks of ${title}`}>
      <header class="section-head">
        <h2 class="grove-title">
          <a href={href("chat", grove.session)}>{title}</a>
        </h2>
        <span class="soft small">
          {grove.done} of {grove.total} done, changed <Time at={grove.changed} />
        </span>
      </header>
      <div class="card grove-card">
        <Branch nodes={grove.nodes} status={status} />
      </div>
    </section>
  );
}

function None() {
  return (
    <Empty icon="tasks" title="No tasks yet.">
      <p>The agent adds tasks when a job has several steps. Tasks of all sessions appear here.</p>
      <a class="button button-main" href={href("chat")}>
        Start a chat
      </a>
    </Empty>
  );
}
