import { expect, test } from "vitest";
import type { RoutingResponse } from "../wire/responses";
import { anomalyWords, candidateWords, conditionWords, decisionWords, nameOf, routingOf } from "./agent_words";

const near = { agent: "coder@1", score: 0.8, words: ["tests"], near_example: "Fix the failing test." };
const far = { agent: "reviewer@2", score: 0.4, words: [], near_example: "" };
const routing = (more: Partial<RoutingResponse> = {}): RoutingResponse => ({
  to: "coder@1", by: "words", margin: 0.5, candidates: [near, far], unsure: false, ...more,
});

test("a label is read without its version", () => {
  expect([nameOf("coder@12"), nameOf("coder"), nameOf("")]).toEqual(["coder", "coder", ""]);
});

test("a decision says who made it and how clear it was", () => {
  expect(decisionWords(routing())).toBe("Its words are the nearest to the message. The first is 50 % ahead of the second.");
  expect(decisionWords(routing({ candidates: [near], margin: 1 }))).toBe("Its words are the nearest to the message.");
  expect(decisionWords(routing({ to: "", by: "default", candidates: [] }))).toBe("No agent is near to the message.");
  expect(decisionWords(routing({ to: "", by: "model" }))).toContain("for none of them");
});

test("a candidate has a reason each time", () => {
  expect(candidateWords(near)).toBe("words: tests; like “Fix the failing test.”");
  expect(candidateWords(far)).toBe("similar in meaning");
});

test("a routing is read from an event, and nothing else is taken for one", () => {
  expect(routingOf({ to: "", by: "default", margin: 0, candidates: [near] })).toMatchObject({ unsure: true });
  expect(routingOf({ to: "coder@1", by: "words", margin: 1, candidates: [] })).toMatchObject({ unsure: false });
  expect(routingOf(null)).toBeNull();
  expect(routingOf({ why: "so" })).toBeNull();
});

test("a condition is told in words", () => {
  expect(conditionWords({ field: "1.output.score", gte: 0.7 })).toBe("if 1.output.score is at least 0.7");
  expect(conditionWords({ field: "kind", in: ["a", "b"] })).toBe('if kind is one of ["a","b"]');
  expect(conditionWords(null)).toBe("");
});

test("what is unusual is told beside what is usual", () => {
  expect(anomalyWords({ agent: "coder@2", what: "tokens", value: 12_345.6, usual: 900 })).toBe("Unusual for coder@2: 12,346 tokens, where 900 is usual");
  expect(anomalyWords({ agent: "coder@2", what: "seconds", value: 2, usual: 0.25 })).toBe("Unusual for coder@2: 2 seconds, where 0.3 is usual");
});
