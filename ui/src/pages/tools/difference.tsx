/** How two versions of a skill differ. */

import { useState } from "preact/hooks";
import { Card } from "../../parts/card";
import { Code } from "../../parts/code";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Select } from "../../parts/field";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { VersionDiff, VersionResponse as Version } from "../../wire/responses";

interface Shape {
  path: string;
  versions: readonly Version[];
  shown: number;
}

export function Difference({ path, versions, shown }: Shape) {
  const others = versions.filter((each) => each.number !== shown);
  const before = others.find((each) => each.number < shown) ?? others[0];
  const [other, setOther] = useState(before?.number ?? 0);
  const old = Math.min(other, shown);
  const young = Math.max(other, shown);
  const { answer, error, again } = useAsked(
    (signal) => api.get<VersionDiff>(`${path}/diff`, { old, new: young }, signal),
    [path, old, young],
  );
  return (
    <Card title={`What changed from version ${old} to version ${young}`}>
      <div class="stack">
        <div class="skill-choice">
          <Select
            label="Compare with"
            value={String(other)}
            onChange={(value) => setOther(Number(value))}
            options={others.map((each) => ({ value: String(each.number), label: `Version ${each.number}` }))}
          />
        </div>
        {error !== null && <Failure error={error} onRetry={again} />}
        {!answer && error === null && <Loading />}
        {answer && (answer.diff ? <Code text={answer.diff} language="diff" /> : <p class="soft">Their code is the same.</p>)}
      </div>
    </Card>
  );
}
