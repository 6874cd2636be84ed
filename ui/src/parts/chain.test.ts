import { expect, test } from "vitest";
import type { DelegationResponse } from "../wire/responses";
import { drawingOf, linksOf, linksRun, linkWords } from "./chain";

const link = (agent: string, more: object = {}) => ({ agent, input: "{{input}}", when: null, on_error: "stop" as const, ...more });
const chain = {
  strategy: "sequential" as const,
  links: [link("researcher"), link("reviewer", { input: "Look at:\n{{1.output}}", when: { field: "1.output.score", gte: 0.7 }, on_error: "continue" })],
};
const begun = (call_id: string, status: string | null) =>
  ({ call_id, receipt: status && { agent: "researcher@2", status, seconds: 2.5, tokens: 1200, cost: "0.02", no_work_seen: status === "failed" } }) as DelegationResponse;

test("a link says when it works, what it is given and what happens when it fails", () => {
  expect(linksOf(chain).map(linkWords)).toEqual([
    "researcher, gets the message",
    "reviewer, if 1.output.score is at least 0.7, gets Look at: {{1.output}}, the chain goes on if it fails",
  ]);
});

test("a turn goes through the links, and those it does not need are told of at its end", () => {
  const states = (delegates: DelegationResponse[], over: boolean) => linksRun(chain, delegates, over).map((each) => [each.state, each.lines.at(-1)]);

  expect(states([begun("link-1", null)], false)).toEqual([["running", "at work"], ["ahead", "not yet begun"]]);
  expect(states([begun("link-1", "done")], true)).toEqual([["done", "done · 2.5 s · 1.2k tokens · $0.02"], ["skipped", "not needed"]]);
  expect(states([begun("link-1", "failed")], true)[0]).toEqual(["failed", "failed · 2.5 s · 1.2k tokens · $0.02 · no work seen"]);
  expect(linksRun(chain, [begun("link-1", "done")], true)[0]?.agent).toBe("researcher@2");
});

test("links stand below each other, and each has an arrow", () => {
  const links = linksOf(chain);
  const row = drawingOf("sequential", links);

  expect(row.boxes[1]!.y).toBeGreaterThan(row.boxes[0]!.y + row.boxes[0]!.height);
  expect(row.height).toBeGreaterThanOrEqual(row.boxes[1]!.y + row.boxes[1]!.height);
  expect(row.arrows).toHaveLength(2);
  expect(row.arrows[1]!.line).toContain(` ${row.boxes[0]!.y + row.boxes[0]!.height}V`);
  expect(drawingOf("parallel", links).arrows.every(({ line }) => line.includes("H"))).toBe(true);
});
