/** All agents, by name. */

import { useState } from "preact/hooks";
import { STAGES } from "../../parts/agent_words";
import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Search } from "../../parts/field";
import { Tag } from "../../parts/tag";
import { go, href } from "../../router";
import { useAgents } from "../../state/agents";
import { useAsked } from "../../state/asked";
import { agentPath } from "../../wire/agents";
import { api } from "../../wire/api";
import type { AgentResponse, AgentStatsList } from "../../wire/responses";
import { ImportAgents } from "./import";
import { MAKE } from "./make";
import { anomaliesOf, doneWords, searched } from "./words";

/** Agents that are drawn at first: each asks how it has done. */
const PAGE = 30;

export function List() {
  const [search, setSearch] = useState("");
  const [most, setMost] = useState(PAGE);
  const { answer, error, again } = useAgents();
  const found = searched(answer?.agents ?? [], search);
  return (
    <div class="stack">
      <div class="row">
        <div class="lead">
          <Search label="Search agents" value={search} onInput={setSearch} />
        </div>
        <ImportAgents onDone={again} />
        <Button icon="plus" kind="main" onClick={() => go("agents", MAKE)}>
          New agent
        </Button>
      </div>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && found.length === 0 && <Empty icon="agent" title="No agents found." />}
      {found.length > 0 && (
        <ul class="rows">
          {found.slice(0, most).map((agent) => (
            <Row key={agent.name} agent={agent} />
          ))}
        </ul>
      )}
      {found.length > most && (
        <Button kind="quiet" onClick={() => setMost(most + PAGE)}>
          Show more of {found.length}
        </Button>
      )}
    </div>
  );
}

function Row({ agent }: { agent: AgentResponse }) {
  const { answer } = useAsked((signal) => api.get<AgentStatsList>(`${agentPath(agent.name)}/stats`, {}, signal), [agent.name, agent.version]);
  const stats = answer?.stats ?? [];
  return (
    <li class="agent-row">
      <div class="lead">
        <a class="agent-title" href={href("agents", agent.name)}>
          {agent.name}
        </a>
        <p class="agent-about soft small">{agent.description || "No description."}</p>
        <div class="soft small">{[agent.capabilities.join(", "), doneWords(stats)].filter(Boolean).join(" · ")}</div>
      </div>
      <span class="row">
        {anomaliesOf(stats).length > 0 && (
          <span title={anomaliesOf(stats).join("; ")}>
            <Tag tone="warn">unusual</Tag>
          </span>
        )}
        <Tag>version {agent.version}</Tag>
        <Tag tone={STAGES[agent.stage]}>{agent.stage}</Tag>
      </span>
    </li>
  );
}
