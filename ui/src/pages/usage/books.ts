/** What was spent, made ready to be drawn. Pure. */

import type { TotalResponse, UsageResponse } from "../../wire/responses";

/** A row of a chart and of the table beside it. */
export interface Row extends TotalResponse {
  key: string;
  label: string;
  /** Where it leads; empty when nowhere. */
  link: string;
}

const DAY = 24 * 60 * 60 * 1000;
/** More empty days than this are not drawn one by one. */
const MOST = 400;

/** Every day from the first to the last, also those on which nothing was spent. */
export function daysOf(usage: Pick<UsageResponse, "by_day" | "since" | "until">): Row[] {
  const known = new Map(usage.by_day.map((each) => [each.day, each]));
  const days = [...known.keys()].sort();
  const last = [days.at(-1), usage.until.slice(0, 10)].filter(Boolean).sort().at(-1) ?? "";
  const first = usage.since === null ? (days[0] ?? last) : [usage.since.slice(0, 10), ...days].sort()[0]!;
  const count = Math.min(MOST, Math.round((Date.parse(last) - Date.parse(first)) / DAY) + 1);
  return Array.from({ length: Math.max(0, count) }, (_, index) => {
    const day = new Date(Date.parse(last) - (count - 1 - index) * DAY).toISOString().slice(0, 10);
    return { ...(known.get(day) ?? NOTHING), key: day, label: dayName(day), link: "" };
  });
}

const NOTHING: TotalResponse = { requests: 0, input_tokens: 0, output_tokens: 0, total_tokens: 0, cost: null };

/** A day as a person writes it. */
export function dayName(day: string): string {
  return new Date(`${day}T12:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** A bar: where it stands and how high it is, in parts of the whole. */
export interface Bar {
  key: string;
  label: string;
  input: number;
  output: number;
}

/** Bars of a chart; the highest reaches 1. */
export function barsOf(rows: readonly Row[]): Bar[] {
  const most = Math.max(1, ...rows.map((row) => row.total_tokens));
  return rows.map((row) => ({
    key: row.key,
    label: row.label,
    input: row.input_tokens / most,
    output: row.output_tokens / most,
  }));
}

/** Largest first. */
export function largest(rows: readonly Row[]): Row[] {
  return [...rows].sort((one, other) => other.total_tokens - one.total_tokens);
}

/** A round number at or above the largest, for the top of the scale. */
export function ceilingOf(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((each) => each >= most) ?? most;
}
