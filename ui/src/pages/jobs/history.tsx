/** What became of a job's moments, the newest first. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Table, type Column } from "../../parts/table";
import { Tag } from "../../parts/tag";
import { plain } from "../../parts/words";
import { href } from "../../router";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { FiringList, FiringResponse, Job, JobResponse } from "../../wire/responses";
import { jobPath, TELLING } from "./acts";
import { cameOf, tookWords, zoneWords } from "./words";

const PAGE = 50;
const MOST = 1000;

function columnsOf({ zone }: Job): readonly Column<FiringResponse>[] {
  return [
    {
      title: "Planned",
      cell: ({ firing }) => (
        <time class="job-planned" dateTime={firing.planned}>
          {zoneWords(firing.planned, zone)}
        </time>
      ),
    },
    { title: "Outcome", cell: (each) => <Outcome came={each} /> },
    { title: "What came of it", cell: (each) => <span class="job-answer">{each.firing.note || plain(each.answer)}</span> },
    { title: "Took", cell: tookWords },
    {
      title: "Session",
      cell: ({ firing: { turn_id: turn, session_id: session, planned } }) =>
        turn && session ? (
          <a href={href("chat", session)} aria-label={`Open the session of ${zoneWords(planned, zone)}`}>
            Open
          </a>
        ) : null,
    },
  ];
}

function Outcome({ came }: { came: FiringResponse }) {
  const { words, tone } = cameOf(came);
  return <Tag tone={tone}>{words}</Tag>;
}

export function History({ view: { job, last } }: { view: JobResponse }) {
  const [limit, setLimit] = useState(PAGE);
  const { answer, error, again } = useAsked(
    (signal) => api.get<FiringList>(`${jobPath(job.id)}/history`, { limit }, signal),
    [job.id, last?.firing.key, limit],
  );
  useFresh(TELLING, again);
  const firings = answer?.firings ?? [];
  return (
    <section aria-label="History">
      <header class="section-head">
        <h2>History</h2>
      </header>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && firings.length === 0 && <p class="soft">Nothing was planned yet. “Run now” tries it.</p>}
      {firings.length > 0 && <Table label="History of moments" columns={columnsOf(job)} rows={firings} rowKey={({ firing }) => firing.key} />}
      {firings.length === limit && limit < MOST && <Button onClick={() => setLimit(Math.min(MOST, limit * 4))}>Show older moments</Button>}
    </section>
  );
}
