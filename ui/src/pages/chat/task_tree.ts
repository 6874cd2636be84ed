/** Tasks as a tree. Pure. */

import type { TaskItem } from "../../wire/events";

/** A task with its parts. */
export interface Node {
  task: TaskItem;
  parts: Node[];
}

/** Tasks as a tree; one whose parent is not there, or that would be its own, stands at the root. */
export function treeOf(tasks: readonly TaskItem[]): Node[] {
  const nodes = new Map(tasks.map((task) => [task.number, { task, parts: [] as Node[] }]));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = node.task.parent === null ? undefined : nodes.get(node.task.parent);
    // A parent is always older; anything else would never end.
    if (parent && parent.task.number < node.task.number) parent.parts.push(node);
    else roots.push(node);
  }
  return roots;
}
