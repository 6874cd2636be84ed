import { expect, test } from "vitest";
import type { AgentResponse, AgentStatsResponse } from "../../wire/responses";
import type { Event } from "../../wire/events";
import { callsOf, secondsOf } from "./attempt";
import { lineDiff } from "./diff";
import { anomaliesOf, doneWords, originWords, powersOf, searched } from "./words";

const stats = (turns: number, done: number, more: object = {}) => ({ turns, done, cost: "0", anomalies: [], ...more }) as unknown as AgentStatsResponse;

test("how an agent has done is told of all its versions together", () => {
  expect(doneWords([])).toBe("");
  expect(doneWords([stats(1, 1)])).toBe("1 run, 100 % done");
  expect(doneWords([stats(3, 1, { cost: "0.25" }), stats(1, 1, { cost: "0.75" })])).toBe("4 runs, 50 % done, $1.00");
  expect(anomaliesOf([stats(3, 1, { anomalies: ["tokens"] }), stats(1, 1)])).toEqual(["tokens"]);
});

test("an agent is found by its name, its purpose and what it can do", () => {
  const agents = [
    { name: "coder", description: "Writes programs", capabilities: ["code"] },
    { name: "poet", description: "Writes poems", capabilities: [] },
  ] as unknown as AgentResponse[];

  expect(searched(agents, "WRITES")).toHaveLength(2);
  expect(searched(agents, "poem").map((each) => each.name)).toEqual(["poet"]);
  expect(searched(agents, "code").map((each) => each.name)).toEqual(["coder"]);
});

test("whoever made a version is named", () => {
  expect(["person", "built-in", "import:a/poet.md", "agent:main", "else"].map(originWords)).toEqual([
    "made by a person", "built in", "imported from a/poet.md", "proposed by main", "else",
  ]);
});

test("what an agent may do is told with what it may not", () => {
  const usual = { tools: { allow: null, deny: [] }, policy: { approvals: [], workspace: "shared" as const, network: null } };

  expect(powersOf(usual)).toEqual([["Tools", "the usual ones"], ["Workspace", "reads and changes its files"]]);
  expect(powersOf({ tools: { allow: [], deny: ["shell"] }, policy: { approvals: ["write_file"], workspace: "own", network: [] } })).toEqual([
    ["Tools", "none"], ["Never", "shell"], ["Asks before", "write_file"], ["Workspace", "only a folder of its own"], ["Network", "no hosts"],
  ]);
});

test("two texts differ in the lines that do, with some beside them", () => {
  const old = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

  expect(lineDiff("same\ntext", "same\ntext")).toBe("");
  expect(lineDiff(old.join("\n"), ["A", ...old.slice(1, 9), "J"].join("\n"))).toBe("-a\n+A\n b\n c\n d\n@@\n g\n h\n i\n-j\n+J");
  expect(lineDiff("a\nc", "a\nb\nc")).toBe(" a\n+b\n c");
});

test("an attempt counts its calls and its time", () => {
  const called = (tool: string) => ({ type: "tool_call", tool }) as Event;

  expect(callsOf([called("shell"), { type: "cleared" } as Event, called("read_file"), called("shell")])).toEqual([["shell", 2], ["read_file", 1]]);
  expect(secondsOf({ created_at: "2026-11-16T09:00:00Z", ended_at: "2026-11-16T09:00:02.5Z" })).toBe(2.5);
  expect(secondsOf({ created_at: "2026-11-16T09:00:00Z", ended_at: null })).toBeNull();
});
