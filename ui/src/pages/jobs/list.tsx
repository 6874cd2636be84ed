/** All jobs; what the agent proposes comes first. */

import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { ImportFile } from "../../parts/import_file";
import { saveText } from "../../parts/save";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { tell, tellFailure } from "../../parts/toast";
import { go, href } from "../../router";
import { useAction } from "../../state/action";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { FiringResponse, JobList, JobResponse, JobText } from "../../wire/responses";
import { jobPath, resume, TELLING, useActs } from "./acts";
import { MAKE } from "./make";
import { cameOf, nextWords, STATES } from "./words";

const FILE = "cron.json";

export function List() {
  const { answer, error, again } = useAsked((signal) => api.get<JobList>("/api/jobs", {}, signal), []);
  useFresh(TELLING, again);
  const jobs = answer?.jobs ?? [];
  const proposed = jobs.filter(({ job }) => job.state === "proposed");
  const others = jobs.filter(({ job }) => job.state !== "proposed");
  return (
    <>
      <Tools empty={jobs.length === 0} onImport={again} />
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && jobs.length === 0 && <None />}
      {proposed.map((view) => (
        <Proposed key={view.job.id} view={view} onDone={again} />
      ))}
      {others.length > 0 && (
        <ul class="rows" aria-label="Jobs">
          {others.map((view) => (
            <Row key={view.job.id} view={view} />
          ))}
        </ul>
      )}
    </>
  );
}

function Tools({ empty, onImport }: { empty: boolean; onImport: () => void }) {
  const { busy, run } = useAction();
  const bring = async (file: File) => {
    const { jobs } = await api.post<JobList>("/api/jobs/import", { text: await file.text(), file: file.name });
    tell(jobs.length === 1 ? "1 job imported." : `${jobs.length} jobs imported.`);
    onImport();
  };
  const download = () =>
    api
      .get<JobText>("/api/jobs/export")
      .then(({ text }) => saveText(FILE, text, "application/json"))
      .catch(tellFailure);
  return (
    <div class="section-head">
      <span class="soft small lead">While the server runs, each job gives its prompt to an agent when its time comes.</span>
      <div class="row">
        <ImportFile label="A file with jobs" accept=".json,application/json" bring={bring} />
        {!empty && (
          <Button icon="download" disabled={busy} onClick={() => void run(download)}>
            Export
          </Button>
        )}
        <Button icon="plus" kind="main" onClick={() => go("jobs", MAKE)}>
          New job
        </Button>
      </div>
    </div>
  );
}

function Row({ view }: { view: JobResponse }) {
  const { job, schedule, last } = view;
  return (
    <li class="job-row">
      <div class="lead">
        <a class="job-name" href={href("jobs", job.id)}>
          {job.name}
        </a>
        <div class="soft small">{schedule.words}</div>
        <div class="small">
          <span class="soft">{job.state === "active" ? "Next: " : ""}</span>
          {nextWords(view)}
        </div>
      </div>
      <span class="row">
        {last && <Last last={last} />}
        <Tag tone={STATES[job.state]}>{job.state}</Tag>
      </span>
    </li>
  );
}

function Last({ last }: { last: FiringResponse }) {
  const { words, tone } = cameOf(last);
  return (
    <span class="row small soft" title={last.firing.note || last.answer}>
      <Time at={last.firing.seen_at} />
      <Tag tone={tone}>{words}</Tag>
    </span>
  );
}

/** A job that the agent would have: nothing runs before a person agrees. */
function Proposed({ view: { job, schedule }, onDone }: { view: JobResponse; onDone: () => void }) {
  const { busy, act } = useActs(onDone);
  return (
    <section class="job-proposed stack" aria-label={`Proposed job ${job.name}`}>
      <div>
        <Tag tone="warn">proposed by the agent</Tag>
        <h2>
          <a href={href("jobs", job.id)}>{job.name}</a>
        </h2>
        <p class="soft small">{schedule.words}</p>
      </div>
      <p class="kept">{job.prompt}</p>
      {job.note && <p class="soft small kept">{job.note}</p>}
      <div class="row">
        <Button kind="main" icon="check" disabled={busy} onClick={() => act(() => resume(job), `${job.name} is accepted.`)}>
          Accept
        </Button>
        <Button icon="close" disabled={busy} onClick={() => act(() => api.delete(jobPath(job.id)), `${job.name} is declined.`)}>
          Decline
        </Button>
      </div>
    </section>
  );
}

function None() {
  return (
    <Empty icon="clock" title="No jobs yet.">
      <p>
        A job is a prompt with a schedule, such as “Read the news and sum them up” with <code>daily 09:00</code>. You see what became of each moment, and
        what it took.
      </p>
      <Button kind="main" icon="plus" onClick={() => go("jobs", MAKE)}>
        Add a job
      </Button>
    </Empty>
  );
}
