import { expect, test } from "vitest";
import type { Event } from "../wire/events";
import { atWork } from "./delegates";
import { active, applyAll, type Frame } from "./log";
import { EMPTY, type AgentChange, type AskedBelow, type Call, type Links, type Turn, type View } from "./view";

type Told = [type: string, fields?: object];

/** The view after a log of one turn. */
function after(...told: Told[]): View {
  const log: Told[] = [["message", { content: "Count", origin: "user", steer: false }], ...told];
  const place = (index: number) => ({ seq: index + 1, session_id: "s", turn_id: "t1", at: "2026-11-16T09:00:00Z" });
  return applyAll(EMPTY, log.map(([type, fields], index) => ({ type, ...fields, ...place(index) }) as unknown as Event as Frame));
}

const call: Told = ["tool_call", { tool: "delegate", input: {}, tool_call_id: "c1", effect: "idempotent" }];
const began = (id: string, by = "c1", background = false): Told => [
  "delegate_started", { agent: "coder@1", task: "List", tool_call_id: by, delegate_session: `s-${id}`, delegate_id: id, background },
];
const ended = (id: string, by = "c1", more: object = {}): Told => [
  "delegate_done", { agent: "coder@1", tool_call_id: by, delegate_session: `s-${id}`, delegate_id: id, status: "done", tokens: 30, cost: "0.5", seconds: 2, no_work_seen: false, ...more },
];
const asks: Told = ["approval_request", {
  approval_id: "a1", tool: "shell", input: {}, tool_call_id: "below", question: "it writes", scope: "", expires_at: null, path: "main > coder",
}];
const allowed: Told = ["approval_resolved", { approval_id: "a1", tool_call_id: "below", allowed: true, reason: "", lasting: "once" }];
const done: Told = ["done", { text: "Three.", iterations: 1, model: "m", usage: { input_tokens: 1, output_tokens: 1, cost: null }, mode: "bounded" }];

const turn = (view: View) => view.entries.find((entry): entry is Turn => entry.kind === "turn")!;
const item = <Kind>(view: View, kind: string) => turn(view).items.find((each) => each.kind === kind) as Kind | undefined;

test("delegates stand at the call that began them, and their receipts at them", () => {
  const view = after(call, began("d1"), began("d2"), ended("d1", "c1", { no_work_seen: true }));
  const [first, second] = item<Call>(view, "call")!.delegates;

  expect(first).toMatchObject({ agent: "coder@1", task: "List", session: "s-d1", status: "done", tokens: 30, cost: 0.5, seconds: 2, noWork: true });
  expect(second).toMatchObject({ status: null, tokens: null, noWork: false });
  expect(atWork(turn(view))).toEqual(["coder"]);
  expect(turn(view).state).toBe("running");
});

test("the links of a chain stand together", () => {
  const view = after(began("d1", "link-1"), ended("d1", "link-1"), began("d2", "link-2"));

  expect(item<Links>(view, "links")?.delegates.map((each) => [each.id, each.status])).toEqual([["d1", "done"], ["d2", null]]);
  expect(turn(view).items).toHaveLength(1);
});

test("the question of a delegate is asked in its parent's turn, until somebody answers", () => {
  const waiting = after(call, began("d1"), asks);

  expect(item<AskedBelow>(waiting, "below")).toMatchObject({ path: "main > coder", tool: "shell", approval: { id: "a1", answer: null } });
  expect(turn(waiting).state).toBe("waiting");
  const going = after(call, began("d1"), asks, allowed);
  expect(item<AskedBelow>(going, "below")?.approval.answer).toMatchObject({ allowed: true });
  expect(turn(going).state).toBe("running");
});

test("what a delegate in the background asks and tells does not let an ended turn go on", () => {
  const log = [call, began("d1", "c1", true), done, asks, allowed, ended("d1")];
  const view = after(...log, ["agent_anomaly", { agent: "coder@1", what: "tokens", value: 9, usual: 1 }]);

  expect(atWork(turn(after(...log.slice(0, 2))))).toEqual([]);
  expect(turn(after(...log.slice(0, 4))).state).toBe("done");
  expect(turn(view)).toMatchObject({ state: "done", ending: { kind: "done" } });
  expect(item<Call>(view, "call")?.delegates[0]?.status).toBe("done");
  expect(turn(view).items.map((each) => each.kind)).toEqual(["call", "words", "below", "notice"]);
  expect(active(view)).toBeNull();
});

test("a session knows who answers, and a turn why", () => {
  const routed = { to: "coder@1", by: "words", margin: 1, candidates: [] };
  const view = after(["agent_changed", { agent: "coder@1", routed }]);

  expect(view.agent).toBe("coder@1");
  expect(item<AgentChange>(view, "agent")).toMatchObject({ agent: "coder@1", prompt: "Count", routed: { by: "words", unsure: false } });
  // It comes with the message, which may wait in line.
  expect(turn(view).state).toBe("queued");
  expect(item<AgentChange>(after(["agent_changed", { agent: "", routed: null }]), "agent")?.routed).toBeNull();
});
