/** One job: what it does and when, and what became of its moments. */

import { useState } from "preact/hooks";
import { Card } from "../../parts/card";
import { Loading } from "../../parts/empty";
import { Facts } from "../../parts/facts";
import { Failure } from "../../parts/failure";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/tag";
import { tell } from "../../parts/toast";
import { href } from "../../router";
import { useHead } from "../../shell/header";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { JobResponse } from "../../wire/responses";
import { Acts, jobPath, TELLING } from "./acts";
import { formOf } from "./draft";
import { JobEditor } from "./editor";
import { History } from "./history";
import { Times } from "./preview";
import { STATES, termsOf } from "./words";

export function One({ id }: { id: string }) {
  const { answer, error, again } = useAsked((signal) => api.get<JobResponse>(jobPath(id), {}, signal), [id]);
  useFresh(TELLING, again);
  useHead(answer?.job.name ?? id);
  const [editing, setEditing] = useState(false);
  const save = async (changes: Record<string, unknown>) => {
    await api.patch(jobPath(id), { changes });
    tell("Saved.");
    setEditing(false);
    again();
  };
  return (
    <>
      <a class="back" href={href("jobs")}>
        All jobs
      </a>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && editing && (
        <JobEditor begin={formOf(answer.job)} before={answer.job} action="Save" onSave={save} onClose={() => setEditing(false)} />
      )}
      {answer && !editing && <About view={answer} onEdit={() => setEditing(true)} onChange={again} />}
    </>
  );
}

function About({ view, onEdit, onChange }: { view: JobResponse; onEdit: () => void; onChange: () => void }) {
  const { job, schedule } = view;
  return (
    <>
      <div class="row">
        <Tag tone={STATES[job.state]}>{job.state}</Tag>
        <code>{job.id}</code>
      </div>
      {job.note && (
        <p class="note" role="status">
          <Icon name="info" />
          <span class="grow kept">{job.note}</span>
        </p>
      )}
      <Acts job={job} onEdit={onEdit} onChange={onChange} />
      <Card title="Prompt">
        <p class="kept">{job.prompt}</p>
      </Card>
      <div class="job-cards">
        <Card title="Schedule">
          <p class="soft small">
            <code>{job.schedule}</code> in {job.zone}
          </p>
          <Times schedule={schedule} />
        </Card>
        <Card title="How it works">
          <Facts facts={termsOf(job, location.origin)} />
        </Card>
      </div>
      <History view={view} />
    </>
  );
}
