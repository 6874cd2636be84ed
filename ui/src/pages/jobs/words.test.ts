import { expect, test } from "vitest";
import type { FiringResponse, Job, JobResponse } from "../../wire/responses";
import { draftOf, EMPTY, formOf } from "./draft";
import { cameOf, clockWords, nextWords, optionsOf, OVERLAPS, termsOf, tookWords, zoneWords } from "./words";

const job = (more: object = {}) =>
  ({
    id: "news", name: "News", schedule: "daily 09:00", prompt: "Read.", zone: "UTC", agent: "", session_mode: "own", session_id: null,
    missed: "once", max_age: null, overlap: "skip", jitter: 0, limits: { steps: null, tokens: null, cost: null, tool_calls: null, seconds: null },
    deep_work: false, watch: "", expect_every: null, notify: ["failure"], state: "active", note: "", created_by: "person", ...more,
  }) as unknown as Job;
const firing = (outcome: string, more: object = {}) => ({ firing: { outcome, turn_id: null, note: "" }, status: null, tokens: 0, cost: null, seconds: 0, ...more }) as unknown as FiringResponse;

test("a moment is shown by the clocks of its own zone, with the offset", () => {
  expect(clockWords("2026-10-25T02:30:00+02:00")).toBe("Sun 25 Oct 2026, 02:30 +02:00");
  expect(clockWords("2026-10-26T02:30:00.123456Z")).toBe("Mon 26 Oct 2026, 02:30 +00:00");
  expect(zoneWords("2026-10-25T00:30:00Z", "Europe/Berlin")).toBe("Sun 25 Oct 2026, 02:30 +02:00");
  expect(zoneWords("2026-10-25T01:30:00Z", "Europe/Berlin")).toBe("Sun 25 Oct 2026, 02:30 +01:00");
  expect(zoneWords("2026-10-25T01:30:00Z", "UTC")).toBe("Sun 25 Oct 2026, 01:30 +00:00");
  expect(zoneWords("2026-10-25T01:30:00Z", "Moon/Crater")).toBe("Sun 25 Oct 2026, 01:30 +00:00");
});

test("when a job fires next is said, or why it does not", () => {
  const view = (of: Job, next_times: string[] = []) => ({ job: of, schedule: { words: "", next_times } }) as unknown as JobResponse;

  expect(nextWords(view(job(), ["2026-10-25T02:30:00+02:00"]))).toBe("Sun 25 Oct 2026, 02:30 +02:00");
  expect(nextWords(view(job({ schedule: "manual" })))).toBe("no planned time");
  expect(nextWords(view(job({ state: "paused", note: "It failed 3 times." })))).toBe("It failed 3 times.");
  expect(nextWords(view(job({ state: "proposed" })))).toBe("waits for your answer");
});

test("what became of a moment is why nothing ran, or how the run stands", () => {
  expect(cameOf(firing("blocked"))).toEqual({ words: "blocked", tone: "bad" });
  expect(cameOf(firing("ran", { status: "done" }))).toEqual({ words: "done", tone: "good" });
  expect(cameOf(firing("changed", { status: "waiting" }))).toEqual({ words: "changed, waiting for an answer", tone: "warn" });
  expect(cameOf(firing("ran"))).toEqual({ words: "ran", tone: undefined });
  expect(tookWords(firing("missed"))).toBe("");
  expect(tookWords({ ...firing("ran"), firing: { turn_id: "t" }, tokens: 1200, cost: 0.5, seconds: 3 } as unknown as FiringResponse)).toBe("1.2k tokens · $0.50 · 3.0 s");
});

test("how a job works is said in lines", () => {
  const facts = Object.fromEntries(
    termsOf(job({ schedule: "webhook", watch: "ls", deep_work: true, max_age: 7200, jitter: 60, expect_every: 86400, notify: [], created_by: "cron.json" }), "http://here"),
  );

  expect(facts).toMatchObject({
    "Agent": "the default agent", "Deep work": "each run", "Watches": "ls; runs only when it has changed", "Session": "its own, shown only the last result",
    "Webhook": "POST http://here/hooks/news, signed with the secret of “lra jobs hook news”, or with a token of scope hook:news", "Missed moments": "the newest one runs, unless it is older than 2 h",
    "While a run goes on": "the moment is left out", "Spread": "up to 1 min late", "Budget of a run": "the usual one", "Expected": "a finished run every 24 h",
    "Tells": "nothing", "Made by": "cron.json",
  });
  expect(Object.fromEntries(termsOf(job({ session_id: "garden" }), ""))).toMatchObject({ Session: "garden", Tells: "a failed or blocked run", "Made by": "a person" });
  expect(optionsOf(OVERLAPS)[0]).toEqual({ value: "skip", label: "The moment is left out" });
});

test("what is filled in becomes the fields of a job, and back", () => {
  const filled = { ...EMPTY, name: "News", session_mode: "named", session_id: " garden ", tokens: "5000", expect_every: "1.5" } as const;

  expect(draftOf(filled, null)).not.toHaveProperty("tokens");
  expect(draftOf(filled, null)).toMatchObject({ session_id: "garden", limits: { tokens: 5000 }, expect_every: 5400 });
  expect(draftOf({ ...filled, session_mode: "new", tokens: "", expect_every: " " }, null)).toMatchObject({ session_id: null, limits: { tokens: null }, expect_every: null });
  const before = job({ limits: { steps: 4, tokens: 10 }, expect_every: 1800 });
  expect(formOf(before)).toMatchObject({ tokens: "10", expect_every: "0.5", session_id: "" });
  expect(draftOf(formOf(before), before)).toMatchObject({ limits: { steps: 4, tokens: 10 }, expect_every: 1800 });
});
