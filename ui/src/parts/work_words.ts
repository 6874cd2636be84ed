/** Deep work in words. Pure. */

import type { Json, WorkPhaseChanged } from "../wire/events";
import type { Forecast } from "../wire/responses";
import { money, tokens } from "./amount";
import type { Tone } from "./tag";

/** What the switch for deep work promises. */
export const DEEP = "plan first, then work on its own until every task is proven";

const PHASES: Readonly<Record<string, string>> = { plan_ready: "plan ready" };

/** A phase, as a tag says it. */
export function phaseWords(phase: string): string {
  return PHASES[phase] ?? phase;
}

const PAUSES: Readonly<Record<string, string>> = {
  limit: "a limit is reached",
  question: "it has a question",
  stuck: "it does not get on",
  person: "somebody stopped it",
};

/** Why a work is paused. */
export function pauseWords(pause: string): string {
  return PAUSES[pause] ?? pause;
}

const NEWS: Readonly<Record<string, string>> = {
  planning: "Deep work: a plan is being made",
  reviewing: "Deep work: what was done is reviewed",
  complete: "Deep work: complete, every task is proven",
  abandoned: "Deep work: abandoned, what was done stays",
};

/** That a work is in another phase, or paused; empty where the plan that waits says it. */
export function phaseNews({ phase, pause, plan_version }: Pick<WorkPhaseChanged, "phase" | "pause" | "plan_version">): string {
  if (pause) return `Deep work is paused: ${pauseWords(pause)}`;
  if (phase === "plan_ready") return "";
  return NEWS[phase] ?? `Deep work: plan v${plan_version} is carried out`;
}

const TONES: Readonly<Record<string, Tone>> = { verified: "good", refuted: "bad", judged: "accent", claimed: "warn" };

/** The tone of what is known of a task. */
export function evidenceTone(state: string): Tone | undefined {
  return TONES[state];
}

/** How many tasks were found in which state: "2 verified, 1 refuted". */
export function findingWords(states: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}

const MARK = /^\[From the work, not from the user\.\]\s*/;

/** What a work tells its next turn, without the mark that is there for the model. */
export function instruction(prompt: string): string {
  return prompt.replace(MARK, "");
}

const LONGEST = 120;

/** The first line of what a work tells its turn, or its first sentence if that is long; then the rest. */
export function headline(prompt: string): [string, string] {
  const text = instruction(prompt);
  const line = text.split("\n", 1)[0] ?? "";
  const first = line.length > LONGEST ? (/^.*?[.:](?=\s)/.exec(line)?.[0] ?? line) : line;
  return [first, text.slice(first.length).trim()];
}

/** A criterion as the server or a proposal has it: with all of its fields, or those that say something. */
export type SomeCriterion = Readonly<Record<string, Json | readonly string[] | undefined>>;

/** What proves a task, in words that follow "Done when". */
export function criterionWords(criterion: SomeCriterion): string {
  const text = (name: string) => String(criterion[name] ?? "");
  const contains = text("contains");
  const holds = contains ? ` and contains “${contains}”` : "";
  switch (criterion["kind"]) {
    case "file":
      return `the file ${text("path")} is there${longer(Number(criterion["min_bytes"] ?? 1))}${holds}${criterion["json_schema"] ? " and fits a JSON schema" : ""}`;
    case "command":
      return `the command “${text("command")}” ends with 0${contains && ` and prints “${contains}”`}${text("matches") && ` and prints what matches /${text("matches")}/`}${kept(criterion["protects"])}`;
    case "call":
      return `${text("tool")} was called${given(criterion["args"])}${contains && ` and its result contains “${contains}”`}`;
    case "fetch":
      return `${text("url")} answers ${text("status") || "200"}`;
    case "judged":
      return `a model that sees what was done says: ${text("text")}`;
    default:
      return text("text") ? `a person says: ${text("text")}` : "a person says so";
  }
}

function longer(bytes: number): string {
  return bytes > 1 ? ` with at least ${bytes.toLocaleString("en")} bytes` : "";
}

function kept(paths: Json | readonly string[] | undefined): string {
  return Array.isArray(paths) && paths.length > 0 ? `, while ${paths.join(", ")} stay as they were` : "";
}

function given(args: Json | readonly string[] | undefined): string {
  return args && Object.keys(args).length > 0 ? ` with ${JSON.stringify(args)}` : "";
}

/** A change of a plan, a line for each part of it; `titleOf` knows the tasks. */
export function patchWords(patch: readonly Readonly<Record<string, Json>>[], titleOf: (task: number) => string): string[] {
  return patch.map((item) => {
    const named = `#${String(item["task"])} “${titleOf(Number(item["task"]))}”`;
    if (item["op"] === "remove") return `Remove ${named}`;
    const title = item["title"] ? `“${String(item["title"])}”` : "";
    if (item["op"] === "add") return [`Add ${title}`, ...partsOf(item)].join("; ");
    return `Change ${named}: ${[...(title ? [`call it ${title}`] : []), ...partsOf(item)].join("; ")}`;
  });
}

function partsOf(item: Readonly<Record<string, Json>>): string[] {
  const list = (name: string, mark = "") =>
    Array.isArray(item[name]) ? item[name].map((each) => `${mark}${String(each)}`).join(", ") : "";
  return [
    item["description"] ? String(item["description"]) : "",
    item["criterion"] ? `done when ${criterionWords(item["criterion"] as SomeCriterion)}` : "",
    list("depends_on") && `after ${list("depends_on", "#")}`,
    list("paths") && `may write ${list("paths")}`,
    list("hosts") && `may reach ${list("hosts")}`,
    item["estimate"] ? `about ${String(item["estimate"])} steps` : "",
  ].filter(Boolean);
}

/** What is left may take: half of such works take less than the first figure, nine of ten less than the second. */
export function forecastWords({ tasks, steps, tokens: used, cost }: Forecast): string {
  const range = (values: readonly number[], say: (value: number) => string) => values.map(say).join(" to ");
  const parts = [`${range(steps, (count) => count.toLocaleString("en"))} steps`];
  if (used.some((count) => count > 0)) parts.push(`${range(used, tokens)} tokens`);
  if (cost) parts.push(range(cost, money));
  return `${tasks === 1 ? "1 task" : `${tasks} tasks`}: ${parts.join(", ")}`;
}
