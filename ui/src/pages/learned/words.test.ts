import { expect, test } from "vitest";
import type { LearnedResponse, ReflectionResponse } from "../../wire/responses";
import { canUndo, readWords, tidiedWords, usesWords } from "./words";

const at = "2026-11-01T00:00:00Z";
const learned = (more: object) => ({ state: "new", memory_id: 3, at, shown: 0, used: 0, harmed: 0, ...more }) as unknown as LearnedResponse;
const report = (more: object) => ({ sessions: 0, turns: 0, learned: [], tokens: 0, note: "", ...more }) as unknown as ReflectionResponse;
const after = (days: number) => Date.parse(at) + days * 24 * 3600 * 1000;

test("what is new or at rest can be taken back for thirty days", () => {
  expect(canUndo(learned({}), after(30))).toBe(true);
  expect(canUndo(learned({}), after(31))).toBe(false);
  expect(canUndo(learned({ state: "resting", memory_id: null }), after(1))).toBe(true);
  expect(canUndo(learned({ memory_id: null }), after(1))).toBe(false);
  expect(canUndo(learned({ state: "refused" }), after(1))).toBe(false);
});

test("how often a memory was recalled and what came of it is said once there is something", () => {
  expect(usesWords(learned({}))).toBe("");
  expect(usesWords(learned({ shown: 1 }))).toBe("shown once, used never");
  expect(usesWords(learned({ shown: 5, used: 2, harmed: 1 }))).toBe("shown 5 times, used 2 times, harmed once");
});

test("a report says what was read and what came of it", () => {
  const made = [learned({}), learned({ state: "refused" }), learned({})];

  expect(readWords(report({ note: "No session is quiet." }))).toBe("No turns to read. No session is quiet.");
  expect(readWords(report({ sessions: 1, turns: 3, learned: made, tokens: 1200 }))).toBe("3 turns of 1 session read: 2 new, 1 refused. 1.2k tokens used.");
  expect(readWords(report({ sessions: 2, turns: 1 }))).toBe("1 turn of 2 sessions read: nothing learned.");
  expect(tidiedWords(report({}))).toBe("Nothing had to be put aside.");
  expect(tidiedWords(report({ learned: [learned({ state: "resting" })] }))).toBe("1 at rest.");
});
