import { expect, test } from "vitest";
import type { Event } from "../wire/events";
import { applyAll, openWork, type Frame } from "./log";
import { EMPTY, type Notice, type Turn, type View } from "./view";

type Told = [turn: string | null, type: string, fields?: object];

/** The view after a log. */
function after(...told: Told[]): View {
  const place = (index: number) => ({ seq: index + 1, session_id: "s", at: "2026-11-16T09:00:00Z" });
  return applyAll(
    EMPTY,
    told.map(([turn_id, type, fields], index) => ({ type, ...fields, turn_id, ...place(index) }) as unknown as Event as Frame),
  );
}

const message = (turn: string, content: string, origin = "user"): Told => [turn, "message", { content, origin, steer: false }];
const phase = (turn: string | null, name: string, pause: string | null = null, note = ""): Told => [
  turn, "work_phase", { work_id: "w", goal: "Write", phase: name, pause, note, plan_version: 1 },
];
const ready = (reason = ""): Told => [null, "plan_ready", { work_id: "w", version: 1, tasks: [], reason, forecast: "1 task" }];
const evidence = (turn: string | null, task: number, state: string): Told => [
  turn, "evidence", { work_id: "w", task, kind: "file", state, proof: "out.txt", by: "harness" },
];
const notices = (view: View) => view.entries.filter((entry): entry is Notice => entry.kind === "notice");
const turn = (view: View) => view.entries.find((entry): entry is Turn => entry.kind === "turn")!;

test("a session knows its work until that has ended", () => {
  const begun = [message("t1", "Write"), phase("t1", "planning")];

  expect(openWork(after(...begun))).toMatchObject({ id: "w", phase: "planning", pause: null });
  expect(openWork(after(...begun, phase(null, "executing", "question", "Which?")))).toMatchObject({ pause: "question", note: "Which?" });
  expect(openWork(after(...begun, phase(null, "complete")))).toBeNull();
  expect(openWork(EMPTY)).toBeNull();
});

test("a plan waits until the work is in another phase", () => {
  const waits = [phase(null, "plan_ready"), ready()];

  expect(after(...waits).plan).toMatchObject({ work: "w", version: 1, reason: "" });
  expect(after(...waits, phase(null, "executing")).plan).toBeNull();
});

test("a plan that is ready is told of once, and a change of it with its reason", () => {
  expect(notices(after(phase(null, "plan_ready"), ready()))).toMatchObject([{ title: "Plan v1 is ready", work: "w" }]);
  const changed = after(phase(null, "executing", "question", "A change waits."), ready("It rains."));
  expect(notices(changed)).toMatchObject([{ tone: "warning", text: "" }, { title: "A change of the plan is proposed", text: "It rains." }]);
  expect(changed.plan).toMatchObject({ reason: "It rains." });
});

test("a message that begins a work waits in line like any other", () => {
  expect(turn(after(message("t1", "Write"), phase("t1", "planning")))).toMatchObject({ state: "queued", items: [{ kind: "notice" }] });
});

test("what was checked in a turn is one line, with the newest finding for each task", () => {
  const view = after(message("t1", "Go on.", "work"), evidence("t1", 2, "refuted"), evidence("t1", 1, "verified"), evidence("t1", 2, "verified"));

  expect(turn(view)).toMatchObject({ origin: "work", state: "running" });
  expect(turn(view).items).toMatchObject([{ kind: "checked", work: "w", findings: [{ task: 1, state: "verified" }, { task: 2, state: "verified" }] }]);
});

test("what a person says about a task stands by itself", () => {
  expect(notices(after(evidence(null, 3, "waived")))).toMatchObject([{ title: "#3 waived by harness", work: "w" }]);
});
