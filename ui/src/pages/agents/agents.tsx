/** Agents: those there are, one of them, or a new one. */

import { Tabs } from "../../parts/tabs";
import { href, place } from "../../router";
import { Make, MAKE } from "./make";
import { List } from "./list";
import { One } from "./one";
import { Which } from "./which";
import "./agents.css";

const TABS = [
  { id: "agents", title: "Agents", Panel: List },
  { id: "which", title: "Which agent?", Panel: Which },
];

export default function AgentsPage() {
  const [name] = place.value.rest;
  if (name === MAKE) return <Make />;
  return <div class="page agents">{name ? <One key={name} name={name} /> : <Overview />}</div>;
}

function Overview() {
  const wanted = place.value.query.get("tab");
  const { id, Panel } = TABS.find((each) => each.id === wanted) ?? TABS[0]!;
  return (
    <Tabs label="Agents" tabs={TABS} chosen={id} onChoose={(tab) => void (location.hash = `${href("agents")}?tab=${tab}`)}>
      <div class="agents-panel">
        <Panel />
      </div>
    </Tabs>
  );
}
