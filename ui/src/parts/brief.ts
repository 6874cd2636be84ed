/** What a call is about, in one line. Pure. */

import type { Json } from "../wire/events";
import { changeOf } from "./changes";

const LONGEST = 160;

/** The input of a call, short: the file it changes, the one value it has, or each value with its name. */
export function brief(input: Json): string {
  if (input === null || typeof input !== "object") return oneLine(String(input ?? ""));
  if (changeOf(input) !== null && "path" in input) return oneLine(String(input.path));
  const pairs = Object.entries(input).filter(([, value]) => value !== null && value !== "");
  if (pairs.length === 1) return oneLine(said(pairs[0]![1]));
  return oneLine(pairs.map(([name, value]) => `${name}: ${said(value)}`).join(", "));
}

function said(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length > LONGEST ? `${flat.slice(0, LONGEST - 1)}…` : flat;
}

/** How the input of a call is shown whole: a diff, code alone, or JSON. */
export function spelled(input: Json): { text: string; language: string } {
  if (typeof input === "string") return { text: input, language: "" };
  const change = changeOf(input);
  if (change !== null) return { text: change, language: "diff" };
  if (input !== null && typeof input === "object" && !Array.isArray(input)) {
    const pairs = Object.entries(input);
    const [only] = pairs;
    if (pairs.length === 1 && only && typeof only[1] === "string") {
      return { text: only[1], language: { code: "python", command: "bash" }[only[0]] ?? "" };
    }
  }
  return { text: JSON.stringify(input, null, 2), language: "json" };
}
