/** Budgets in words. Pure. */

import type { BudgetTight } from "../wire/events";
import type { Limits, LineResponse } from "../wire/responses";
import { money, tokens } from "./amount";
import { duration } from "./moment";

/** What may have limits that more than one turn shares. */
export type Shared = "day" | "session";

/** Whose limit ended a turn, by its name, such as "day_tokens"; null for one of the turn itself. */
export function sharedBy(limit: string): Shared | null {
  return (["day", "session"] as const).find((scope) => limit.startsWith(`${scope}_`)) ?? null;
}

/** Something that is limited, and how it is counted. */
export interface Resource {
  title: string;
  unit: string;
  /** The least that a limit of it is raised by. */
  least: number;
  /** Whether there are no parts of one. */
  whole: boolean;
}

const RESOURCES: Readonly<Record<string, Resource>> = {
  tokens: { title: "Tokens", unit: "tokens", least: 1, whole: true },
  cost: { title: "Cost", unit: "US dollars", least: 0.01, whole: false },
  steps: { title: "Steps", unit: "steps", least: 1, whole: true },
  seconds: { title: "Time", unit: "seconds", least: 1, whole: false },
};

/** The resource of that name; a server that is younger than this page may limit more. */
export function resourceOf(name: string): Resource {
  return RESOURCES[name] ?? { title: name, unit: name, least: 1, whole: true };
}

/** How much of a resource: "5.2k", "$1.50", "3", "2 min 5 s", "1 h". */
export function amountOf(resource: string, amount: number): string {
  if (resource === "tokens") return tokens(amount);
  if (resource === "cost") return money(amount);
  if (resource === "seconds") return seconds(Math.round(amount));
  return amount.toLocaleString("en");
}

function seconds(whole: number): string {
  return whole < 60 ? `${whole} s` : duration(whole * 1000).replace(/ 0 \w+$/, "");
}

/** Limits in one line; empty when there are none. */
export function limitWords({ steps, tokens: most, cost, tool_calls: calls, seconds: longest }: Limits): string {
  const parts = [
    steps === null ? "" : `${steps} steps`,
    most === null ? "" : `${tokens(most)} tokens`,
    cost === null ? "" : money(Number(cost)),
    calls === null ? "" : `${calls} calls`,
    longest === null ? "" : amountOf("seconds", longest),
  ];
  return parts.filter(Boolean).join(", ");
}

/** How much of a limit is used, from 0 to 1 and beyond. */
export function shareOf({ limit, spent }: Pick<LineResponse, "limit" | "spent">): number {
  return limit > 0 ? spent / limit : 1;
}

/** What is used of a limit: "5.2k of 20k used (26 %)". */
export function usedWords(line: LineResponse): string {
  const { resource, spent, limit } = line;
  // What is not used up yet is never said to be.
  const percent = Math.floor(shareOf(line) * 100);
  return `${amountOf(resource, spent)} of ${amountOf(resource, limit)} used (${percent} %)`;
}

/** What requests under way may still take; empty when there are none. */
export function heldWords({ resource, held }: LineResponse): string {
  return held > 0 ? `Up to ${amountOf(resource, held)} more is held for requests under way` : "";
}

const WHOSE: Readonly<Record<string, string>> = { turn: "this turn's", work: "this work's", session: "this session's", day: "today's" };

/** Whose limits: "today's". */
export function whose(scope: string): string {
  return WHOSE[scope] ?? scope;
}

/** That a budget gets tight. */
export function tightWords({ scope, resource, limit, wrap_up }: BudgetTight): string {
  const all = `${whose(scope)} ${amountOf(resource, limit)}`;
  if (resource === "cost") return wrap_up ? `Finishing: ${all} is almost spent` : `Most of ${all} is spent`;
  return wrap_up ? `Finishing: ${all} ${resource} are almost used up` : `Most of ${all} ${resource} are used`;
}

/** What came of raising limits. */
export function raisedWords(turns: number): string {
  if (turns === 0) return "Limits raised. No turn was waiting for it.";
  return turns === 1 ? "Limits raised. 1 turn continues." : `Limits raised. ${turns} turns continue.`;
}

/** What a form says, as a request: by how much each limit is raised; what is empty is left out. */
export function raiseOf(typed: Readonly<Record<string, string>>): Record<string, number> {
  const given = Object.entries(typed).filter(([, text]) => text.trim() !== "");
  return Object.fromEntries(given.map(([resource, text]) => [resource, Number(text)]));
}
