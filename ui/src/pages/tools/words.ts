/** What the marks of tools and skills mean. Pure. */

import type { Tone } from "../../parts/tag";
import type { SkillResponse, ToolResponse } from "../../wire/responses";

/** What running a tool does. */
export const EFFECTS: Record<ToolResponse["effect"], string> = {
  read: "Changes nothing; it may be repeated.",
  idempotent: "Changes something; repeating it leaves the same.",
  once: "Changes something each time; it is never repeated by itself.",
};

export const SHORT_EFFECTS: Record<ToolResponse["effect"], string> = {
  read: "reads",
  idempotent: "changes",
  once: "changes each time",
};

/** What a tool can do beyond its own result. */
export const POWERS: Record<string, string> = {
  send: "Can send data out of this machine.",
  execute: "Runs code in a sandbox.",
  change: "Changes files of the workspace.",
  remember: "Writes to memory.",
  extend: "Can add new abilities to the agent.",
};

/** When a person is asked. */
export const ASKING: Record<ToolResponse["approval"], string> = {
  never: "Never needed.",
  sometimes: "Needed when a call may do harm.",
  always: "Needed for every call.",
};

export const FAMILIES: Record<string, string> = {
  memory: "Memory",
  conversations: "Conversations",
  tasks: "Tasks",
  files: "Files",
  data_view: "Data",
  code: "Code",
  shell: "Shell",
  web: "Web",
  results: "Long results",
  tool_search: "Finding tools",
  skills: "Making skills",
  skill_finding: "Finding skills",
  skill_tools: "Enabled skills",
  mcp: "MCP servers",
};

/** The name of a family. */
export function familyName(family: string): string {
  const words = family.replace(/_/g, " ");
  return FAMILIES[family] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** A skill's state, in a word and a tone. */
export function stateOf(skill: SkillResponse): { word: string; tone: Tone | undefined } {
  if (skill.state === "enabled") return { word: "enabled", tone: "good" };
  if (skill.state === "disabled") return { word: "disabled", tone: undefined };
  return { word: "not enabled yet", tone: undefined };
}

const STANDINGS: Record<string, Tone> = { approved: "good", proposed: "warn", rejected: "bad" };

/** The tone of a version's standing. */
export function standingTone(standing: string): Tone | undefined {
  return STANDINGS[standing];
}

/** How often a skill was called. */
export function callsOf(skill: SkillResponse): string {
  if (skill.calls === 0) return "never called";
  const times = skill.calls === 1 ? "called once" : `called ${skill.calls} times`;
  return skill.failures === 0 ? times : `${times}, ${skill.failures} failed`;
}

/** Tools by family, in the order in which families come. */
export function byFamily(tools: readonly ToolResponse[], search: string): [string, ToolResponse[]][] {
  const wanted = search.trim().toLowerCase();
  const found = new Map<string, ToolResponse[]>();
  for (const tool of tools) {
    if (!`${tool.name}\n${tool.description}`.toLowerCase().includes(wanted)) continue;
    found.set(tool.family, [...(found.get(tool.family) ?? []), tool]);
  }
  return [...found];
}

/** The first sentence of a text. */
export function firstSentence(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  const end = line.search(/[.!?](\s|$)/);
  return end < 0 ? line : line.slice(0, end + 1);
}
