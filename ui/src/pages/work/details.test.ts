import { expect, test } from "vitest";
import type { Evidence, EvidenceState, PauseReason, Plan, Task, TaskStatus, Work, WorkPhase } from "../../wire/responses";
import { doable, evidenceOf, proofsOf, proposalOf, statusOf, undecided } from "./details";

const task = (number: number, status: TaskStatus) => ({ number, status }) as Task;
const found = (number: number, of: number, state: EvidenceState) => ({ number, task: of, state }) as Evidence;
const standing = (phase: WorkPhase, pause: PauseReason | null = null, plans: Plan[] = []) => doable({ work: { phase, pause } as Work, plans });
const PROPOSED = { state: "proposed", version: 2 } as Plan;

test("evidence of a task is told with the newest first", () => {
  const evidence = [found(1, 1, "refuted"), found(2, 2, "verified"), found(3, 1, "verified")];

  expect(evidenceOf({ evidence }, 1).map((each) => each.number)).toEqual([3, 1]);
});

test("what was found again stands once, with how often", () => {
  const evidence = [found(4, 1, "verified"), found(3, 1, "verified"), found(2, 1, "refuted"), found(1, 1, "verified")];

  expect(proofsOf(evidence).map(({ newest, count }) => [newest.number, count])).toEqual([[4, 2], [2, 1], [1, 1]]);
});

test("a task that only holds others together stands where they do", () => {
  const node = (status: TaskStatus, ...below: TaskStatus[]) => ({
    task: { status, criterion: null } as Task,
    parts: below.map((each) => ({ task: { status: each, criterion: {} } as Task, parts: [] })),
  });

  expect(statusOf(node("pending", "completed", "cancelled"))).toBe("completed");
  expect(statusOf(node("pending", "completed", "pending"))).toBe("in_progress");
  expect(statusOf(node("pending", "pending"))).toBe("pending");
  expect(statusOf(node("failed", "completed"))).toBe("failed");
  expect(statusOf(node("pending"))).toBe("pending");
});

test("a person decides about what was claimed, refuted or given up, and not yet proven", () => {
  const tasks = [task(1, "in_progress"), task(2, "completed"), task(3, "failed"), task(4, "pending"), task(5, "cancelled"), task(6, "in_progress")];
  const evidence = [found(1, 1, "claimed"), found(2, 2, "claimed"), found(3, 2, "verified"), found(4, 5, "refuted"), found(5, 6, "refuted")];

  expect(undecided({ tasks, evidence }).map((each) => [each.task.number, each.newest?.state])).toEqual([
    [1, "claimed"],
    [3, undefined],
    [6, "refuted"],
  ]);
});

test("only the change that is still proposed waits", () => {
  expect(proposalOf({ plans: [{ state: "declined" } as Plan, { state: "approved" } as Plan] })).toBeNull();
  expect(proposalOf({ plans: [{ state: "approved" } as Plan, PROPOSED] })).toBe(PROPOSED);
});

test("what can be done follows from where the work stands", () => {
  const none = { plan: false, pause: false, resume: false, raise: false, judge: false, abandon: true };

  expect(standing("planning")).toEqual({ ...none, pause: true });
  expect(standing("plan_ready")).toEqual({ ...none, plan: true, abandon: false });
  expect(standing("plan_ready", "question")).toEqual({ ...none, plan: true, abandon: false });
  expect(standing("executing", "question")).toEqual({ ...none, resume: true, judge: true });
  expect(standing("executing", "limit")).toEqual({ ...none, raise: true });
  expect(standing("executing", "question", [PROPOSED])).toEqual({ ...none, plan: true });
  expect(standing("complete")).toEqual({ ...none, abandon: false });
  expect(standing("abandoned")).toEqual({ ...none, abandon: false });
});
