/** What was learned, in words. Pure. */

import { tokens } from "../../parts/amount";
import type { LearnedKind, LearnedResponse, LearnedState, ReflectionResponse } from "../../wire/responses";

export const KINDS: Readonly<Record<LearnedKind, string>> = {
  fact: "fact",
  lesson: "lesson",
  rule: "rule",
  skill: "skill",
  question: "open question",
};

/** What may have become of it, in the order in which it is shown. */
export const STATES: Readonly<Record<LearnedState, { title: string; about: string }>> = {
  new: { title: "New", about: "What was written down. Undo forgets it." },
  merged: { title: "Merged", about: "What was known already." },
  suggested: { title: "Suggested", about: "What waits for you: a rule is pinned in its chat, and a skill is approved among the tools and skills." },
  resting: { title: "At rest", about: "What was put aside because it was unused, outdated or there twice. It is not recalled; Undo brings it back." },
  refused: { title: "Refused", about: "What was not written down, and why." },
};

const DAY = 24 * 60 * 60 * 1000;
const UNDONE = 30 * DAY;

/** Whether it can still be taken back. */
export function canUndo({ state, memory_id: memory, at }: LearnedResponse, now: number): boolean {
  return (state === "resting" || (state === "new" && memory !== null)) && now - Date.parse(at) <= UNDONE;
}

/** How often its memory was recalled and what came of it; empty before the first time. */
export function usesWords({ shown, used, harmed }: LearnedResponse): string {
  if (shown === 0) return "";
  return [`shown ${times(shown)}`, `used ${times(used)}`, harmed > 0 ? `harmed ${times(harmed)}` : ""].filter(Boolean).join(", ");
}

function times(count: number): string {
  return count === 1 ? "once" : count === 0 ? "never" : `${count} times`;
}

/** What was read, and what came of it: "3 turns of 1 session read: 2 new, 1 refused. 812 tokens used." */
export function readWords({ sessions, turns, learned, tokens: used, note }: ReflectionResponse): string {
  const what = turns === 0 ? "No turns to read" : `${counted(turns, "turn")} of ${counted(sessions, "session")} read: ${madeWords(learned) || "nothing learned"}`;
  return [`${what}.`, used > 0 ? `${tokens(used)} tokens used.` : "", note].filter(Boolean).join(" ");
}

/** What was put aside. */
export function tidiedWords({ learned, note }: ReflectionResponse): string {
  const what = learned.length === 0 ? "Nothing had to be put aside." : `${madeWords(learned)}.`;
  return [what, note].filter(Boolean).join(" ");
}

function madeWords(learned: ReflectionResponse["learned"]): string {
  return (Object.keys(STATES) as LearnedState[])
    .map((state) => [learned.filter((each) => each.state === state).length, STATES[state].title.toLowerCase()] as const)
    .filter(([count]) => count > 0)
    .map(([count, words]) => `${count} ${words}`)
    .join(", ");
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
