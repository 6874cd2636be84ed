/** Who answers the next message, and the choice of another. */

import { nameOf } from "../../parts/agent_words";
import { Icon } from "../../parts/icon";
import { Menu, type Choice } from "../../parts/menu";
import { go } from "../../router";
import { inUse, useAgents } from "../../state/agents";

interface Shape {
  /** name@version of the agent that the session is held with; empty for the home's own. */
  current: string;
  /** What was chosen for the next message; null when it is as before. */
  wanted: string | null;
  onChoose: (agent: string) => void;
}

/** Who leaves the choice to the router. */
const AUTO = "auto";

export function AgentMenu({ current, wanted, onChoose }: Shape) {
  const { answer, again } = useAgents();
  const now = wanted ?? nameOf(current);
  const choice = (value: string, label: string, note = ""): Choice => ({
    label,
    note,
    checked: now === value,
    onChoose: () => onChoose(value),
  });
  const choices: Choice[] = [
    choice("", "Default agent"),
    choice(AUTO, "Choose for me", "by the words of the message"),
    ...inUse(answer).map((name) => choice(name, name)),
    { label: "Manage agents…", icon: "settings", onChoose: () => go("agents") },
  ];
  const name = { "": "Default agent", [AUTO]: "Choose for me" }[now] ?? now;
  return (
    <Menu
      label={`Agent: ${name}`}
      button={
        <>
          <Icon name="agent" />
          <span class="agent-name clip">{name}</span>
          <Icon name="down" />
        </>
      }
      buttonClass="button button-quiet button-small"
      choices={choices}
      up
      onOpen={again}
    />
  );
}
