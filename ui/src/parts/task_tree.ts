/** Tasks as a tree. Pure. */

import type { TaskItem } from "../wire/events";
import type { IconName } from "./icon";

/** A task with its parts. */
export interface Node<Task extends TaskItem = TaskItem> {
  task: Task;
  parts: Node<Task>[];
}

/** How the statuses look, in the order of a task's life. */
export const STATUSES: Readonly<Record<string, { icon: IconName; words: string }>> = {
  pending: { icon: "circle", words: "to do" },
  in_progress: { icon: "activity", words: "in progress" },
  completed: { icon: "check", words: "done" },
  failed: { icon: "warning", words: "failed" },
  cancelled: { icon: "close", words: "cancelled" },
};

/** How a status looks; one that is not known says its name. */
export function statusLook(status: string): { icon: IconName; words: string } {
  return STATUSES[status] ?? { icon: "circle", words: status };
}

/** Tasks as a tree; one whose parent is not there, or that would be its own, stands at the root. */
export function treeOf<Task extends TaskItem>(tasks: readonly Task[]): Node<Task>[] {
  const nodes = new Map(tasks.map((task) => [task.number, { task, parts: [] as Node<Task>[] }]));
  const roots: Node<Task>[] = [];
  for (const node of nodes.values()) {
    const parent = node.task.parent === null ? undefined : nodes.get(node.task.parent);
    // A parent is always older; anything else would never end.
    if (parent && parent.task.number < node.task.number) parent.parts.push(node);
    else roots.push(node);
  }
  return roots;
}
