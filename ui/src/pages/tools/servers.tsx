/** MCP servers: how they are, and what they offer. */

import { Button } from "../../parts/button";
import { Card } from "../../parts/card";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Tag, type Tone } from "../../parts/tag";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { ServerList } from "../../wire/responses";
import { firstSentence } from "./words";

const TONES: Readonly<Record<string, Tone>> = { ready: "good", failed: "bad", starting: "warn" };

export function Servers() {
  const { answer, error, busy, again } = useAsked((signal) => api.get<ServerList>("/api/mcp", {}, signal), []);
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading what="Connecting to MCP servers" />;
  if (answer.servers.length === 0) {
    return (
      <Empty icon="box" title="No MCP servers are configured.">
        <p>
          Add them to <code>mcp.json</code> in the agent's home folder and restart the server.
        </p>
      </Empty>
    );
  }
  return (
    <div class="stack">
      <div class="row spread">
        <p class="soft grow">Their tools are offered to the agent, and their answers are treated as untrusted.</p>
        <Button small icon="retry" disabled={busy} onClick={again}>
          Refresh
        </Button>
      </div>
      {answer.servers.map((server) => (
        <Card key={server.name} title={server.name} actions={<Tag tone={TONES[server.state]}>{server.state}</Tag>}>
          <p class="soft small mono server-where">{server.where}</p>
          {server.reason && server.state !== "ready" && <p class="kept">{server.reason}</p>}
          <ul class="server-tools">
            {server.tools.map((tool) => (
              <li key={tool.name}>
                <span class="mono">{tool.name}</span>{" "}
                <span class="soft small">{tool.refused ? `Not offered: ${tool.refused}` : firstSentence(tool.description)}</span>
              </li>
            ))}
          </ul>
        </Card>
      ))}
    </div>
  );
}
