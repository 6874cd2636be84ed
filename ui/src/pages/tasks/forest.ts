/** The tasks of all sessions, as a tree for each. Pure. */

import { treeOf, type Node } from "../../parts/task_tree";
import type { TaskResponse } from "../../wire/responses";

/** A session's tasks. */
export interface Grove {
  session: string;
  nodes: Node<TaskResponse>[];
  done: number;
  total: number;
  /** When one of them was changed last. */
  changed: string;
}

/** How many tasks are in each status. */
export function counted(tasks: readonly TaskResponse[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

/** A tree for each session that has a task in the status, the one changed last first; all for "". */
export function forestOf(tasks: readonly TaskResponse[], status: string): Grove[] {
  const sessions = new Map<string, TaskResponse[]>();
  for (const task of tasks) sessions.set(task.session_id, [...(sessions.get(task.session_id) ?? []), task]);
  return [...sessions]
    .map(([session, all]) => grove(session, all, status))
    .filter((each) => each.nodes.length > 0)
    .sort((one, other) => Date.parse(other.changed) - Date.parse(one.changed));
}

function grove(session: string, tasks: TaskResponse[], status: string): Grove {
  const ordered = [...tasks].sort((one, other) => one.number - other.number);
  return {
    session,
    nodes: kept(treeOf(ordered), status),
    done: tasks.filter((task) => task.status === "completed").length,
    total: tasks.length,
    changed: tasks.map((task) => task.updated_at).reduce(later),
  };
}

function later(one: string, other: string): string {
  return Date.parse(other) > Date.parse(one) ? other : one;
}

/** What is in the status, and what it is a part of: a task is not understood without that. */
function kept(nodes: readonly Node<TaskResponse>[], status: string): Node<TaskResponse>[] {
  if (!status) return [...nodes];
  return nodes
    .map(({ task, parts }) => ({ task, parts: kept(parts, status) }))
    .filter(({ task, parts }) => task.status === status || parts.length > 0);
}
