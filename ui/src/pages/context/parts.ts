/** The next request by its parts. Pure. */

import type { ContextResponse, ContextShares } from "../../wire/responses";

export type ShareName = keyof ContextShares;

export const SHARES: readonly { name: ShareName; title: string }[] = [
  { name: "instructions", title: "Instructions" },
  { name: "tools", title: "Tools" },
  { name: "memories", title: "Memories" },
  { name: "block", title: "Left-out turns" },
  { name: "history", title: "History" },
  { name: "prompt", title: "New message" },
  { name: "protocol", title: "Overhead" },
];

/** A piece of the stacked bar: where it begins and how long it is, of 1. */
export interface Piece {
  name: ShareName | "free";
  title: string;
  tokens: number;
  start: number;
  length: number;
}

/** The pieces of the bar. Its whole is the model's window, if that is known and holds them. */
export function piecesOf(shares: ContextShares, window: number | null): Piece[] {
  const total = SHARES.reduce((sum, { name }) => sum + shares[name], 0);
  const whole = Math.max(total, window ?? 0, 1);
  let reached = 0;
  const pieces: Piece[] = [];
  for (const { name, title } of SHARES) {
    const tokens = shares[name];
    if (tokens > 0) pieces.push({ name, title, tokens, start: reached / whole, length: tokens / whole });
    reached += tokens;
  }
  if (whole > reached && reached > 0) {
    pieces.push({ name: "free", title: "Free", tokens: whole - reached, start: reached / whole, length: 1 - reached / whole });
  }
  return pieces;
}

/** A share in percent, with "<1" for what is there and little. */
export function percent(part: number): string {
  const points = part * 100;
  return points > 0 && points < 1 ? "<1 %" : `${Math.round(points)} %`;
}

const MANNERS: Record<string, string> = {
  whole: "",
  short: "shortened",
  line: "as a line of a summary",
  left_out: "left out",
};

const REASONS: Record<string, string> = {
  window: "because the model's window is full",
};

/** How a message is shown to the model; empty when it is whole. */
export function mannerOf(shown: string, reason: string): string {
  const manner = MANNERS[shown] ?? shown.replace(/_/g, " ");
  return manner && REASONS[reason] ? `${manner}, ${REASONS[reason]}` : manner;
}

/** What the model does not get, in sentences. */
export function leftOut(told: Pick<ContextResponse, "history" | "tools" | "earlier" | "degraded">): string[] {
  const gone = told.history.filter((each) => mannerOf(each.shown, "") === "left out").length;
  const cut = told.history.filter((each) => !["", "left out"].includes(mannerOf(each.shown, ""))).length;
  const tools = told.tools.filter((each) => each.state === "left_out").length;
  const short = told.tools.filter((each) => each.state === "short").length;
  return [
    told.earlier > 0 && `${count(told.earlier, "message")} before these are not looked at.`,
    gone > 0 && `${count(gone, "message")} left out.`,
    cut > 0 && `${count(cut, "message")} shortened.`,
    tools > 0 && `${count(tools, "tool")} not offered.`,
    short > 0 && `${count(short, "tool")} offered with one sentence each.`,
    told.degraded,
  ].filter((each): each is string => typeof each === "string" && each !== "");
}

function count(number: number, what: string): string {
  return number === 1 ? `1 ${what}` : `${number} ${what}s`;
}
