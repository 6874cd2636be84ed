import { describe, expect, test } from "vitest";
import type { BudgetTight } from "../wire/events";
import type { LineResponse } from "../wire/responses";
import { amountOf, heldWords, raisedWords, raiseOf, sharedBy, shareOf, tightWords, usedWords } from "./budget";

const line = (resource: string, spent: number, limit: number, held = 0): LineResponse => ({
  scope: "day", key: "2026-11-16", resource, limit, spent, held,
});
const tight = (scope: string, resource: string, limit: number, wrap_up: boolean): BudgetTight => ({
  type: "budget", scope, resource, limit, wrap_up,
});

describe("a budget", () => {
  test("is raised where the limit is: for the day, for the session, or not at all", () => {
    expect(["day_tokens", "session_cost", "tokens", "steps"].map(sharedBy)).toEqual(["day", "session", null, null]);
  });

  test("says what is used, each in its own measure", () => {
    expect(usedWords(line("tokens", 5510, 200_000))).toBe("5.5k of 200k used (2 %)");
    expect(usedWords(line("cost", 0.5, 2))).toBe("$0.50 of $2.00 used (25 %)");
    expect(usedWords(line("steps", 1200, 1200))).toBe("1,200 of 1,200 used (100 %)");
    expect(usedWords(line("seconds", 125.3, 600))).toBe("2 min 5 s of 10 min used (20 %)");
    expect([0, 3.4, 3600].map((each) => amountOf("seconds", each))).toEqual(["0 s", "3 s", "1 h"]);
  });

  test("of which nearly all is used is not used up, and one of nothing is", () => {
    expect(usedWords(line("tokens", 999, 1000))).toContain("(99 %)");
    expect(shareOf({ limit: 0, spent: 0 })).toBe(1);
  });

  test("says what is held only while something is", () => {
    expect(heldWords(line("tokens", 10, 100))).toBe("");
    expect(heldWords(line("tokens", 10, 100_000, 16_400))).toBe("Up to 16.4k more is held for requests under way");
  });

  test("that gets tight says whose it is, and when the agent only finishes", () => {
    expect(tightWords(tight("day", "tokens", 200_000, false))).toBe("Most of today's 200k tokens are used");
    expect(tightWords(tight("session", "cost", 5, false))).toBe("Most of this session's $5.00 is spent");
    expect(tightWords(tight("turn", "tokens", 1500, true))).toBe("Finishing: this turn's 1.5k tokens are almost used up");
    expect(tightWords(tight("day", "cost", 5, true))).toBe("Finishing: today's $5.00 is almost spent");
  });

  test("is raised by what was typed, and by nothing else", () => {
    expect(raiseOf({ tokens: " 5000 ", cost: "", steps: "  " })).toEqual({ tokens: 5000 });
    expect(raiseOf({})).toEqual({});
    expect([0, 1, 3].map(raisedWords)).toEqual([
      "Limits raised. No turn was waiting for it.", "Limits raised. 1 turn continues.", "Limits raised. 3 turns continue.",
    ]);
  });
});
