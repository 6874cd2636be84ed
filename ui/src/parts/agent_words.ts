/** Agents and why they were chosen, in words. Pure. */

import type { AgentAnomaly, Json } from "../wire/events";
import type { AgentResponse, RouteCandidate, RoutingResponse } from "../wire/responses";
import type { Tone } from "./tag";

/** The name in `researcher@3`. */
export function nameOf(label: string): string {
  return label.split("@", 1)[0]!;
}

/** Who answers, for a reader. */
export function shownAgent(label: string): string {
  return label || "the default agent";
}

/** How the stages of a version look. */
export const STAGES: Readonly<Record<AgentResponse["stage"], Tone | undefined>> = {
  draft: "warn",
  published: "good",
  retired: undefined,
};

const DECIDED: Readonly<Record<RoutingResponse["by"], string>> = {
  words: "Its words are the nearest to the message.",
  model: "The words did not decide, so a model was asked.",
  person: "Somebody chose it.",
  default: "Nothing decided clearly.",
};

/** What decided, in a sentence or two. */
export function decisionWords({ to, by, margin, candidates }: RoutingResponse): string {
  if (candidates.length === 0) return "No agent is near to the message.";
  if (by === "model" && !to) return "A model was asked, and found that it is for none of them.";
  if (by === "person" || candidates.length === 1) return DECIDED[by];
  return `${DECIDED[by]} The first is ${percent(margin)} ahead of the second.`;
}

/** Why an agent is among those that a message may be for. */
export function candidateWords({ words, near_example: near }: RouteCandidate): string {
  const parts = [words.length > 0 ? `words: ${words.join(", ")}` : "", near ? `like “${near}”` : ""];
  return parts.filter(Boolean).join("; ") || "similar in meaning";
}

/** A share as a whole number of percent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Why an agent was chosen, as an event tells it; null when nobody chose, or it says something else. */
export function routingOf(told: Readonly<Record<string, Json>> | null): RoutingResponse | null {
  if (!told || typeof told["to"] !== "string" || !Array.isArray(told["candidates"])) return null;
  const known = told as unknown as RoutingResponse;
  return { ...known, unsure: known.by === "default" && known.candidates.length > 0 };
}

const COMPARED: Readonly<Record<string, string>> = {
  eq: "is",
  ne: "is not",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  in: "is one of",
  contains: "contains",
};

/** When a link of a chain works; empty when it always does. */
export function conditionWords(when: Readonly<Record<string, Json>> | null): string {
  if (!when) return "";
  const [way] = Object.keys(when).filter((key) => key !== "field");
  if (!way) return "";
  const value = when[way];
  return `if ${String(when["field"])} ${COMPARED[way] ?? way} ${typeof value === "string" ? value : JSON.stringify(value)}`;
}

/** That a turn was not as the turns of its agent usually are. */
export function anomalyWords({ agent, what, value, usual }: Pick<AgentAnomaly, "agent" | "what" | "value" | "usual">): string {
  const amount = (number: number) => (number < 10 ? number.toFixed(1).replace(/\.0$/, "") : Math.round(number).toLocaleString("en"));
  return `Unusual for ${agent}: ${amount(value)} ${what}, where ${amount(usual)} is usual`;
}
