/** Tools and skills: what the model may call, and what it was taught. */

import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Search } from "../../parts/field";
import { Tabs } from "../../parts/tabs";
import { Tag } from "../../parts/tag";
import { useState } from "preact/hooks";
import { go, href, place } from "../../router";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { ToolList, ToolResponse } from "../../wire/responses";
import { MAKE, Make } from "./make";
import { One } from "./one";
import { Skills } from "./skills";
import { Problems } from "./problems";
import { Servers } from "./servers";
import { SHORT_EFFECTS, byFamily, familyName, firstSentence } from "./words";
import "./tools.css";

const TABS = [
  { id: "tools", title: "Tools", Panel: BuiltIn },
  { id: "skills", title: "Skills", Panel: Skills },
  { id: "mcp", title: "MCP servers", Panel: Servers },
  { id: "problems", title: "Problems", Panel: Problems },
];

export default function ToolsPage() {
  const [name] = place.value.rest;
  if (name === MAKE) return <Make />;
  if (name) return <One key={name} name={name} />;
  return <Overview />;
}

function Overview() {
  const wanted = place.value.query.get("tab");
  const { id: tab, Panel } = TABS.find((each) => each.id === wanted) ?? TABS[0]!;
  const choose = (id: string) => void (location.hash = `${href("tools")}?tab=${id}`);
  return (
    <div class="page">
      <div class="row spread">
        <p class="soft lead">Built-in tools, and skills made by you or the agent. Skills need your approval.</p>
        <Button icon="plus" kind="main" onClick={() => go("tools", MAKE)}>
          Create a skill
        </Button>
      </div>
      <Tabs label="Tools and skills" tabs={TABS} chosen={tab} onChoose={choose}>
        <div class="tools-panel">
          <Panel />
        </div>
      </Tabs>
    </div>
  );
}

function BuiltIn() {
  const [search, setSearch] = useState("");
  const { answer, error, again } = useAsked((signal) => api.get<ToolList>("/api/tools", {}, signal), []);
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading what="Loading" />;
  const families = byFamily(answer.tools, search);
  return (
    <div class="stack">
      <Search label="Search tools" value={search} onInput={setSearch} />
      {families.length === 0 && (
        <Empty icon="tools" title={search ? "No tools found." : "No tools."}>
          {!search && <p>All tools are switched off in the settings.</p>}
        </Empty>
      )}
      {families.map(([family, tools]) => (
        <section key={family} aria-label={familyName(family)}>
          <h2 class="tools-family">{familyName(family)}</h2>
          <ul class="lines">
            {tools.map((tool) => (
              <ToolLine key={tool.name} tool={tool} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function ToolLine({ tool }: { tool: ToolResponse }) {
  return (
    <li>
      <a class="line" href={href("tools", tool.name)}>
        <span class="line-main">
          <span class="mono line-name">{tool.name}</span>
          <span class="soft small">{firstSentence(tool.description)}</span>
        </span>
        <span class="row line-tags">
          <Tag>{SHORT_EFFECTS[tool.effect]}</Tag>
          {tool.approval !== "never" && <Tag tone="warn">{tool.approval === "always" ? "always asks" : "may ask"}</Tag>}
          {!tool.enabled && <Tag tone="bad">off</Tag>}
        </span>
      </a>
    </li>
  );
}
