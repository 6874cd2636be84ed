/** One tool, or one skill: whichever has the name. */

import { Card } from "../../parts/card";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Markdown } from "../../parts/markdown";
import { Tag } from "../../parts/tag";
import { href } from "../../router";
import { useHead } from "../../shell/header";
import { useAsked } from "../../state/asked";
import { ApiFailure, api } from "../../wire/api";
import type { SkillResponse, ToolList, ToolResponse } from "../../wire/responses";
import { Arguments } from "./arguments";
import { SkillView } from "./skill";
import { ASKING, EFFECTS, POWERS, familyName } from "./words";

type Found = { tool: ToolResponse } | { skill: SkillResponse } | "none";

/** Skills in use are tools as well; there is more to tell of them as skills. */
async function look(name: string, signal: AbortSignal): Promise<Found> {
  const { tools } = await api.get<ToolList>("/api/tools", {}, signal);
  const tool = tools.find((each) => each.name === name && each.kind !== "skill");
  if (tool) return { tool };
  try {
    return { skill: await api.get<SkillResponse>(`/api/skills/${encodeURIComponent(name)}`, {}, signal) };
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 404) return "none";
    throw error;
  }
}

export function One({ name }: { name: string }) {
  useHead(name);
  const { answer, error, again } = useAsked((signal) => look(name, signal), [name]);
  return (
    <div class="page">
      <a class="back" href={`${href("tools")}${answer && answer !== "none" && "skill" in answer ? "?tab=skills" : ""}`}>
        All tools and skills
      </a>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer === "none" && (
        <Empty icon="tools" title={`${name} was not found.`}>
          <p>It may have been deleted, or it is switched off in the settings.</p>
        </Empty>
      )}
      {answer && answer !== "none" && ("tool" in answer ? <ToolView tool={answer.tool} /> : <SkillView skill={answer.skill} onChange={again} />)}
    </div>
  );
}

function ToolView({ tool }: { tool: ToolResponse }) {
  return (
    <>
      <div class="row">
        <Tag>{familyName(tool.family)}</Tag>
        {tool.enabled ? <Tag tone="good">on</Tag> : <Tag tone="bad">off</Tag>}
      </div>
      <Markdown text={tool.description} />
      <dl class="tool-facts">
        <dt>Effect</dt>
        <dd>{EFFECTS[tool.effect]}</dd>
        <dt>Powers</dt>
        <dd>
          {tool.powers.length === 0
            ? "None beyond its own result."
            : tool.powers.map((power) => <div key={power}>{POWERS[power] ?? power}</div>)}
        </dd>
        <dt>Approval</dt>
        <dd>{ASKING[tool.approval]}</dd>
        <dt>Results</dt>
        <dd>{tool.foreign ? "Untrusted: the agent is told not to follow instructions in them." : "Made by this program."}</dd>
        <dt>Switch</dt>
        <dd>
          {tool.enabled ? "Switched on in the settings." : "Switched off in the settings."}{" "}
          <span class="soft">
            Change it in config.toml.
          </span>
        </dd>
      </dl>
      <Card title="Arguments">
        <Arguments schema={tool.parameters} />
      </Card>
    </>
  );
}
