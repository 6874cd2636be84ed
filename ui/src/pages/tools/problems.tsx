/** Files among the skills that cannot be skills. */

import { Card } from "../../parts/card";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Time } from "../../parts/time";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { ProblemList } from "../../wire/responses";

export function Problems() {
  const { answer, error, again } = useAsked(
    (signal) => api.get<ProblemList>("/api/skills/problems", {}, signal),
    [],
  );
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading />;
  if (answer.problems.length === 0) {
    return (
      <Empty icon="check" title="No problems.">
        <p>Files in the skills folder that cannot be loaded appear here.</p>
      </Empty>
    );
  }
  return (
    <div class="stack">
      {answer.problems.map((problem) => (
        <Card key={problem.path} title={problem.path} actions={<span class="soft small"><Time at={problem.seen_at} /></span>}>
          <p class="kept">{problem.error}</p>
        </Card>
      ))}
    </div>
  );
}
