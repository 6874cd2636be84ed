import { expect, test } from "vitest";
import type { TaskResponse, TaskStatus } from "../../wire/responses";
import { counted, forestOf } from "./forest";

const AT = "2026-11-16T09:00:00Z";
const LATER = "2026-11-16T10:00:00Z";

function task(session_id: string, number: number, status: TaskStatus, parent: number | null = null, updated_at = AT): TaskResponse {
  const none = { description: "", result: "", depends_on: [], criterion: null, scope: { paths: [], hosts: [] }, estimate: null, notes: [], work_id: null, planned: false };
  return { ...none, session_id, number, title: `${number}`, status, parent, created_at: AT, updated_at };
}

test("the session whose tasks changed last stands first", () => {
  const forest = forestOf([task("old", 1, "pending"), task("new", 1, "completed", null, LATER)], "");

  expect(forest.map((grove) => grove.session)).toEqual(["new", "old"]);
  expect(forest[0]).toMatchObject({ done: 1, total: 1 });
});

test("a filter keeps what a task is a part of, and nothing beside it", () => {
  const tasks = [task("a", 1, "in_progress"), task("a", 2, "pending", 1), task("a", 3, "failed", 1), task("b", 1, "completed")];

  const [grove, ...others] = forestOf(tasks, "failed");

  expect(others).toEqual([]);
  expect(grove?.nodes[0]?.task.number).toBe(1);
  expect(grove?.nodes[0]?.parts.map((node) => node.task.number)).toEqual([3]);
});

test("tasks that come with the latest first still stand in the order in which they were made", () => {
  const [grove] = forestOf([task("a", 2, "pending"), task("a", 1, "pending")], "");

  expect(grove?.nodes.map((node) => node.task.number)).toEqual([1, 2]);
});

test("statuses are counted over all sessions", () => {
  expect(counted([task("a", 1, "pending"), task("b", 1, "pending")]).get("pending")).toBe(2);
});
