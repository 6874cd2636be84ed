/** One agent: what it says, its console, its versions, and how they have done. */

import { useState } from "preact/hooks";
import { STAGES } from "../../parts/agent_words";
import { Button } from "../../parts/button";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Select } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { Tabs } from "../../parts/tabs";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { href, place } from "../../router";
import { useHead } from "../../shell/header";
import { useAsked } from "../../state/asked";
import { agentPath } from "../../wire/agents";
import { api } from "../../wire/api";
import type { AgentResponse, AgentVersions } from "../../wire/responses";
import { About } from "./about";
import { Acts } from "./acts";
import { Console } from "./console";
import { Runs } from "./runs";
import { Versions } from "./versions";
import { originWords, publishedOf } from "./words";

/** What a tab is about. */
export interface Panel {
  /** The version that is shown. */
  agent: AgentResponse;
  /** All versions, the newest first. */
  versions: readonly AgentResponse[];
  /** Something was changed; the version that is to be shown then. */
  onChange: (version: number) => void;
}

const TABS = [
  { id: "about", title: "About", Panel: About },
  { id: "console", title: "Console", Panel: Console },
  { id: "versions", title: "Versions", Panel: Versions },
  { id: "runs", title: "Runs", Panel: Runs },
];

export function One({ name }: { name: string }) {
  useHead(name);
  const { answer, error, again } = useAsked((signal) => api.get<AgentVersions>(`${agentPath(name)}/versions`, {}, signal), [name]);
  const [chosen, setChosen] = useState<number | null>(null);
  const versions = answer?.versions ?? [];
  const agent = versions.find((each) => each.version === chosen) ?? publishedOf(versions) ?? versions[0];
  const changed = (version: number) => {
    setChosen(version);
    again();
  };
  return (
    <>
      <a class="back" href={href("agents")}>
        All agents
      </a>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {agent && (
        <>
          <Head agent={agent} versions={versions} onChoose={setChosen} />
          <Acts agent={agent} versions={versions} onChange={changed} />
          <Parts agent={agent} versions={versions} onChange={changed} />
        </>
      )}
    </>
  );
}

function Parts(props: Panel) {
  const wanted = place.value.query.get("tab");
  const { id, Panel } = TABS.find((each) => each.id === wanted) ?? TABS[0]!;
  const choose = (tab: string) => void (location.hash = `${href("agents", props.agent.name)}?tab=${tab}`);
  return (
    <Tabs label="About this agent" tabs={TABS} chosen={id} onChoose={choose}>
      <div class="agents-panel">
        <Panel key={props.agent.version} {...props} />
      </div>
    </Tabs>
  );
}

function Head({ agent, versions, onChoose }: { agent: AgentResponse; versions: readonly AgentResponse[]; onChoose: (version: number) => void }) {
  const [newest] = versions;
  return (
    <div class="stack agent-head">
      <div class="row">
        <Tag tone={STAGES[agent.stage]}>{agent.stage}</Tag>
        <span class="soft small">
          {originWords(agent.origin)}, <Time at={agent.created_at} />
        </span>
      </div>
      <p class="kept">{agent.description}</p>
      {newest && newest.version > agent.version && newest.stage === "draft" && (
        <p class="note" role="status">
          <Icon name="edit" />
          <span class="grow">Version {newest.version} is a draft.</span>
          <Button small onClick={() => onChoose(newest.version)}>
            Show it
          </Button>
        </p>
      )}
      <div class="agent-choice">
        <Select
          label="Version"
          value={String(agent.version)}
          onChange={(value) => onChoose(Number(value))}
          options={versions.map((each) => ({ value: String(each.version), label: `Version ${each.version} · ${each.stage}` }))}
        />
      </div>
    </div>
  );
}
