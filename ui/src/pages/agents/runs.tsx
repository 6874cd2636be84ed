/** How the versions of an agent have done. */

import { percent } from "../../parts/agent_words";
import { money, tokens } from "../../parts/amount";
import { Card } from "../../parts/card";
import { spent } from "../../parts/chain";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Table, type Column } from "../../parts/table";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { agentPath } from "../../wire/agents";
import { api } from "../../wire/api";
import type { AgentStatsList, AgentStatsResponse } from "../../wire/responses";
import type { Panel } from "./one";

const TELLING: ReadonlySet<string> = new Set(["done", "error", "delegate_done", "catch_up"]);

const COLUMNS: readonly Column<AgentStatsResponse>[] = [
  { title: "Version", cell: (each) => each.agent },
  { title: "Runs", cell: (each) => each.turns, number: true },
  { title: "Done", cell: (each) => percent(each.done / Math.max(1, each.turns)), number: true },
  { title: "Refuted tasks", cell: (each) => each.refuted, number: true },
  { title: "Tokens", cell: (each) => tokens(each.tokens), number: true },
  { title: "Cost", cell: (each) => money(Number(each.cost)), number: true },
  { title: "Half take less than", cell: (each) => spent(each.p50_seconds), number: true },
  { title: "19 of 20 take less than", cell: (each) => spent(each.p95_seconds), number: true },
];

export function Runs({ agent }: Panel) {
  const { answer, error, again } = useAsked((signal) => api.get<AgentStatsList>(`${agentPath(agent.name)}/stats`, {}, signal), [agent.name]);
  useFresh(TELLING, again);
  const stats = answer?.stats ?? [];
  return (
    <div class="stack">
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && stats.length === 0 && (
        <Empty icon="activity" title="No runs yet.">
          <p>Choose this agent below the message field of a chat, or try it in the console.</p>
        </Empty>
      )}
      {stats.length > 0 && <Table label="Runs by version" columns={COLUMNS} rows={stats} rowKey={(each) => each.agent} />}
      {stats.map((each) => (
        <Troubles key={each.agent} stats={each} />
      ))}
    </div>
  );
}

function Troubles({ stats: { agent, errors, anomalies } }: { stats: AgentStatsResponse }) {
  if (errors.length + anomalies.length === 0) return null;
  return (
    <Card title={agent}>
      {anomalies.length > 0 && <h3>Unusual</h3>}
      <Lines lines={anomalies} />
      {errors.length > 0 && <h3>Last errors</h3>}
      <Lines lines={errors} />
    </Card>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <ul class="agent-examples">
      {lines.map((line, index) => (
        <li key={index} class="kept">
          {line}
        </li>
      ))}
    </ul>
  );
}
