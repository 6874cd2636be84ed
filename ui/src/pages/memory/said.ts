/** Memories in words. Pure. */

import type { Tone } from "../../parts/tag";
import { ApiFailure } from "../../wire/api";
import type { MemoryResponse, MemoryStats } from "../../wire/responses";

/** What sorts of things are remembered. */
export const KINDS: Readonly<Record<string, string>> = {
  fact: "Fact",
  lesson: "Lesson",
  note: "Note",
  summary: "Summary",
  task: "Task",
  conversation: "Conversation",
};

/** Who said it, the most trusted first. */
export const TRUSTS: Readonly<Record<string, { words: string; tone?: Tone }>> = {
  user: { words: "You", tone: "accent" },
  agent: { words: "The agent" },
  tool: { words: "A tool" },
  web: { words: "The web", tone: "warn" },
};

/** What a word of the server is called here. */
export function kindWords(kind: string): string {
  return KINDS[kind] ?? kind;
}

/** Who said it, and in which colour. */
export function trustLook(trust: string): { words: string; tone?: Tone } {
  return TRUSTS[trust] ?? { words: trust };
}

/** Who can see it. */
export function scopeWords(scope: string): string {
  return { user: "all sessions", agent: "this agent", session: "one session" }[scope] ?? scope;
}

const LEAST = 0.01;
/** Parts that say nothing to a person. */
const INTERNAL: ReadonlySet<string> = new Set(["telling", "beside"]);

/** What each part of a search gave, the most first: "words 0.62, meaning 0.31"; next to nothing is nothing. */
export function whyWords(why: Readonly<Record<string, number>>): string {
  return Object.entries(why)
    .filter(([part, share]) => share >= LEAST && !INTERNAL.has(part))
    .sort(([, one], [, other]) => other - one)
    .map(([part, share]) => `${part.replaceAll("_", " ")} ${share.toFixed(2)}`)
    .join(", ");
}

/** How much is remembered, in one line. */
export function statsWords(stats: MemoryStats): string {
  const total = Object.values(stats.counts).reduce((sum, count) => sum + count, 0);
  const kinds = Object.entries(stats.counts)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one)
    .map(([kind, count]) => `${kindWords(kind).toLowerCase()} ${count}`);
  const parts = [
    `${total} ${total === 1 ? "memory" : "memories"}${kinds.length > 0 ? ` (${kinds.join(", ")})` : ""}`,
    stats.embedder === null ? "keyword search only, since no embedding model is set" : "keyword and semantic search",
    stats.missing > 0 && `${stats.missing} not indexed yet`,
    stats.trash > 0 && `${stats.trash} forgotten, can be restored`,
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

/** The memories that a refusal names since they are similar; null for any other failure. */
export function similarIn(error: unknown): MemoryResponse[] | null {
  if (!(error instanceof ApiFailure) || error.code !== "similar") return null;
  const { memories } = error.told as { memories?: unknown };
  return Array.isArray(memories) ? (memories as MemoryResponse[]) : null;
}
