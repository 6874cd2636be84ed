/** What became of a work, as it can be kept. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Card } from "../../parts/card";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Markdown } from "../../parts/markdown";
import { saveText } from "../../parts/save";
import { tellFailure } from "../../parts/toast";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { Work, WorkReport } from "../../wire/responses";

const pathOf = (work: Work) => `/api/works/${encodeURIComponent(work.id)}/report`;

export function Report({ work }: { work: Work }) {
  const [wanted, setWanted] = useState<boolean | null>(null);
  const shown = wanted ?? work.ended_at !== null;
  const actions = (
    <>
      <Button small aria-expanded={shown} onClick={() => setWanted(!shown)}>
        {shown ? "Hide" : "Show"}
      </Button>
      <Button small icon="download" onClick={() => void download(work).catch(tellFailure)}>
        Download
      </Button>
    </>
  );
  return (
    <Card title="Report" actions={actions}>
      {shown ? <Words work={work} /> : <p class="soft">What was done so far, with its evidence.</p>}
    </Card>
  );
}

function Words({ work }: { work: Work }) {
  const { answer, error, again } = useAsked((signal) => api.get<WorkReport>(pathOf(work), {}, signal), [work.id, work.updated_at]);
  return (
    <>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && <Markdown text={answer.report} />}
    </>
  );
}

async function download(work: Work): Promise<void> {
  const { report } = await api.get<WorkReport>(pathOf(work));
  saveText(`${work.id}.md`, report);
}
