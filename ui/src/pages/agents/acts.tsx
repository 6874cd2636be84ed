/** What a person does with an agent: publish it, retire it, take it along. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/dialog";
import { Facts } from "../../parts/facts";
import { saveText } from "../../parts/save";
import { tell, tellFailure } from "../../parts/toast";
import { useAction } from "../../state/action";
import { agentPath } from "../../wire/agents";
import { api } from "../../wire/api";
import type { AgentResponse, AgentText } from "../../wire/responses";
import type { Panel } from "./one";
import { isForeign, powersOf, publishedOf } from "./words";

/** An agent as a file. */
export function exported(agent: AgentResponse, signal?: AbortSignal): Promise<AgentText> {
  return api.get<AgentText>(`${agentPath(agent.name)}/export`, { version: agent.version }, signal);
}

export function Acts({ agent, versions, onChange }: Panel) {
  const [opened, setOpened] = useState<"publish" | "retire" | null>(null);
  const { busy, run } = useAction();
  const published = publishedOf(versions);
  const act = (verb: string, json: object, words: string) =>
    void run(() =>
      api
        .post<AgentResponse>(`${agentPath(agent.name)}/${verb}`, json)
        .then(() => {
          tell(words);
          onChange(agent.version);
        })
        .catch(tellFailure),
    );
  const download = () => exported(agent).then(({ text }) => saveText(`${agent.name}.md`, text)).catch(tellFailure);
  return (
    <div class="row">
      {agent.stage !== "published" && (
        <Button kind="main" icon="check" disabled={busy} onClick={() => setOpened("publish")}>
          Publish version {agent.version}
        </Button>
      )}
      {published && (
        <Button icon="stop" disabled={busy} onClick={() => setOpened("retire")}>
          Retire
        </Button>
      )}
      <Button icon="download" disabled={busy} onClick={() => void run(download)}>
        Export
      </Button>
      {opened === "publish" && (
        <Confirm
          title={`Publish version ${agent.version} of ${agent.name}?`}
          action="Publish"
          onConfirm={() => act("publish", { version: agent.version }, `${agent.name}@${agent.version} is published.`)}
          onClose={() => setOpened(null)}
        >
          <div class="stack">
            <p>It can be chosen from now on{published ? `, instead of version ${published.version}` : ""}. This is what it may do:</p>
            <Facts facts={powersOf(agent)} />
            {isForeign(agent.origin) && <p class="note">Its words are not yours: read its instructions first.</p>}
          </div>
        </Confirm>
      )}
      {opened === "retire" && (
        <Confirm
          title={`Retire ${agent.name}?`}
          action="Retire"
          danger
          onConfirm={() => act("retire", {}, `${agent.name} is retired.`)}
          onClose={() => setOpened(null)}
        >
          Nobody can choose it any more. Turns that run keep it, and it can be published again.
        </Confirm>
      )}
    </div>
  );
}
