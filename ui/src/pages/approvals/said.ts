/** What decisions are called. Pure. */

import { brief } from "../../parts/brief";
import type { Tone } from "../../parts/tag";
import type { Json } from "../../wire/events";

const DECISIONS: Readonly<Record<string, { words: string; tone?: Tone }>> = {
  allow: { words: "allowed", tone: "good" },
  ask: { words: "asked", tone: "warn" },
  deny: { words: "denied", tone: "bad" },
};

/** A decision in a word, and its colour. */
export function decisionLook(decision: string): { words: string; tone?: Tone } {
  return DECISIONS[decision] ?? { words: decision };
}

const DECIDERS: Readonly<Record<string, string>> = {
  policy: "by a built-in rule",
  rule: "by a setting",
  grant: "by a saved permission",
  person: "by you",
};

/** Who decided. */
export function decider(who: string): string {
  return DECIDERS[who] ?? `by ${who}`;
}

/** The arguments of a call in one line; the log keeps only the beginning, which may be no JSON. */
export function argumentsOf(args: string): string {
  try {
    return brief(JSON.parse(args) as Json);
  } catch {
    return brief(args);
  }
}
