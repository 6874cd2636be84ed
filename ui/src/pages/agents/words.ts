/** What an agent is and how it does, in words. Pure. */

import { money } from "../../parts/amount";
import { percent } from "../../parts/agent_words";
import { limitWords } from "../../parts/budget";
import type { Fact } from "../../parts/facts";
import type { AgentResponse, AgentStatsResponse } from "../../wire/responses";

/** Agents that a search finds. */
export function searched(agents: readonly AgentResponse[], search: string): AgentResponse[] {
  const wanted = search.trim().toLowerCase();
  return agents.filter((agent) => [agent.name, agent.description, ...agent.capabilities].join("\n").toLowerCase().includes(wanted));
}

/** How an agent has done, all of its versions together; empty before its first turn. */
export function doneWords(stats: readonly AgentStatsResponse[]): string {
  const sum = (of: (each: AgentStatsResponse) => number) => stats.reduce((total, each) => total + of(each), 0);
  const turns = sum((each) => each.turns);
  if (turns === 0) return "";
  const cost = sum((each) => Number(each.cost));
  const words = [turns === 1 ? "1 run" : `${turns} runs`, `${percent(sum((each) => each.done) / turns)} done`, cost > 0 ? money(cost) : ""];
  return words.filter(Boolean).join(", ");
}

/** What of the last turn of the newest version that ran is not as usual. */
export function anomaliesOf(stats: readonly AgentStatsResponse[]): readonly string[] {
  return stats[0]?.anomalies ?? [];
}

/** Who made a version. */
export function originWords(origin: string): string {
  const [kind, rest = ""] = [origin.split(":", 1)[0]!, origin.slice(origin.indexOf(":") + 1)];
  if (kind === "import") return `imported from ${rest}`;
  if (kind === "agent") return `proposed by ${rest || "an agent"}`;
  return { person: "made by a person", "built-in": "built in" }[kind] ?? origin;
}

/** Whether the words of a version are somebody else's. */
export function isForeign(origin: string): boolean {
  return origin.startsWith("import:") || origin.startsWith("agent:");
}

const WORKSPACES: Readonly<Record<AgentResponse["policy"]["workspace"], string>> = {
  shared: "reads and changes its files",
  own: "only a folder of its own",
  read_only: "reads its files, changes none",
};

/** What an agent may do: what a person looks at before it is published. */
export function powersOf({ tools, policy }: Pick<AgentResponse, "tools" | "policy">): Fact[] {
  const listed = (names: readonly string[]) => names.join(", ");
  const allowed = tools.allow === null ? "the usual ones" : listed(tools.allow) || "none";
  const facts: Fact[] = [["Tools", allowed]];
  if (tools.deny.length > 0) facts.push(["Never", listed(tools.deny)]);
  if (policy.approvals.length > 0) facts.push(["Asks before", listed(policy.approvals)]);
  facts.push(["Workspace", WORKSPACES[policy.workspace]]);
  if (policy.network !== null) facts.push(["Network", listed(policy.network) || "no hosts"]);
  return facts;
}

/** How an agent works. */
export function termsOf(agent: AgentResponse): Fact[] {
  const { sampling, max_chain_depth: depth } = agent;
  const asked = Object.entries(sampling).filter(([, value]) => value !== null);
  const facts: Fact[] = [["Model", [agent.model ?? "the session's", ...asked.map(([name, value]) => `${name.replace(/_/g, " ")} ${value}`)].join(", ")]];
  if (agent.capabilities.length > 0) facts.push(["Capabilities", agent.capabilities.join(", ")]);
  const limits = limitWords(agent.budget);
  if (limits) facts.push(["Budget of a turn", limits]);
  facts.push(["Memory", agent.memory === "none" ? "neither read nor written" : "the usual one"]);
  facts.push(["Hands work on", depth === 0 ? "to nobody" : depth === 1 ? "one level deep" : `${depth} levels deep`]);
  return facts;
}

/** The version that is used; undefined when none is. */
export function publishedOf(versions: readonly AgentResponse[]): AgentResponse | undefined {
  return versions.find((each) => each.stage === "published");
}
