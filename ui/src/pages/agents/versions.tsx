/** The versions of an agent, and how two of them differ. */

import { useState } from "preact/hooks";
import { STAGES } from "../../parts/agent_words";
import { Card } from "../../parts/card";
import { Code } from "../../parts/code";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Select } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { useAsked } from "../../state/asked";
import type { AgentResponse } from "../../wire/responses";
import { exported } from "./acts";
import { lineDiff } from "./diff";
import type { Panel } from "./one";
import { originWords } from "./words";

const COLUMNS: readonly Column<AgentResponse>[] = [
  { title: "Version", cell: (each) => each.version },
  { title: "Stage", cell: (each) => <Tag tone={STAGES[each.stage]}>{each.stage}</Tag> },
  { title: "Made", cell: (each) => <Time at={each.created_at} /> },
  { title: "Origin", cell: (each) => originWords(each.origin) },
  { title: "Digest", cell: (each) => <code>{each.digest}</code> },
];

export function Versions({ agent, versions }: Panel) {
  return (
    <div class="stack">
      <Table label="Versions" columns={COLUMNS} rows={versions} rowKey={(each) => String(each.version)} />
      {versions.length > 1 && <Difference shown={agent} versions={versions} />}
    </div>
  );
}

function Difference({ shown, versions }: { shown: AgentResponse; versions: readonly AgentResponse[] }) {
  const others = versions.filter((each) => each.version !== shown.version);
  const [chosen, setChosen] = useState(others.find((each) => each.version < shown.version)?.version ?? others[0]!.version);
  const other = others.find((each) => each.version === chosen) ?? others[0]!;
  const [old, young] = other.version < shown.version ? [other, shown] : [shown, other];
  const { answer, error, again } = useAsked(
    async (signal) => {
      const [before, after] = await Promise.all([exported(old, signal), exported(young, signal)]);
      return { diff: lineDiff(before.text, after.text) };
    },
    [old.version, young.version],
  );
  return (
    <Card title={`What changed from version ${old.version} to version ${young.version}`}>
      <div class="stack">
        <div class="agent-choice">
          <Select
            label="Compare with"
            value={String(other.version)}
            onChange={(value) => setChosen(Number(value))}
            options={others.map((each) => ({ value: String(each.version), label: `Version ${each.version} · ${each.stage}` }))}
          />
        </div>
        {error !== null && <Failure error={error} onRetry={again} />}
        {!answer && error === null && <Loading />}
        {answer && (answer.diff ? <Code text={answer.diff} language="diff" /> : <p class="soft">They say the same.</p>)}
      </div>
    </Card>
  );
}
