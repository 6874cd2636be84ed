import { expect, test } from "vitest";
import { treeOf } from "./task_tree";

const task = (number: number, parent: number | null = null) => ({ number, title: `${number}`, status: "pending", parent });

test("tasks stand below their parents", () => {
  const [root, other] = treeOf([task(1), task(2, 1), task(3, 2), task(4)]);

  expect(root?.parts[0]?.parts[0]?.task.number).toBe(3);
  expect(other?.task.number).toBe(4);
});

test("a task without its parent, or its own parent, stands at the root", () => {
  expect(treeOf([task(2, 1), task(3, 3)]).map((node) => node.task.number)).toEqual([2, 3]);
});
