/** What of a work waits for a person. Pure. */

import type { Node } from "../../parts/task_tree";
import type { Evidence, Plan, Task, Work, WorkDetailsResponse } from "../../wire/responses";

/** What was found about a task, the newest first. */
export function evidenceOf(found: Pick<WorkDetailsResponse, "evidence">, task: number): Evidence[] {
  return found.evidence.filter((each) => each.task === task).reverse();
}

/** The same finding, once or several times in a row. */
export interface Proof {
  newest: Evidence;
  count: number;
}

/** Evidence, the newest first, in which what was found again stands once. */
export function proofsOf(evidence: readonly Evidence[]): Proof[] {
  const proofs: Proof[] = [];
  for (const each of evidence) {
    const last = proofs.at(-1);
    const same = last && last.newest.state === each.state && last.newest.proof === each.proof && last.newest.by === each.by;
    if (same) last.count += 1;
    else proofs.push({ newest: each, count: 1 });
  }
  return proofs;
}

/** Where a task stands: one that only holds others together stands where they do. */
export function statusOf({ task, parts }: Node<Task>): string {
  if (task.criterion !== null || parts.length === 0 || task.status !== "pending") return task.status;
  const below = parts.map(statusOf).filter((status) => status !== "cancelled");
  if (below.length > 0 && below.every((status) => status === "completed")) return "completed";
  return below.every((status) => status === "pending") ? "pending" : "in_progress";
}

/** The change of the plan that waits for an answer; null when none does. */
export function proposalOf(found: Pick<WorkDetailsResponse, "plans">): Plan | null {
  return found.plans.findLast((plan) => plan.state === "proposed") ?? null;
}

/** A task that a person may decide about. */
export interface Undecided {
  task: Task;
  /** What was found last; null for a task that was given up before anybody looked. */
  newest: Evidence | null;
}

/** Tasks that are said to be done and that only a person can see, and those that cannot be proven. */
export function undecided(found: Pick<WorkDetailsResponse, "tasks" | "evidence">): Undecided[] {
  return found.tasks
    .map((task) => ({ task, newest: evidenceOf(found, task.number)[0] ?? null }))
    .filter(({ task, newest }) => {
      if (task.status === "cancelled" || task.status === "completed") return false;
      return task.status === "failed" || newest?.state === "claimed" || newest?.state === "refuted";
    });
}

/** Whether it can still go on. */
export function isOpen({ phase }: Pick<Work, "phase">): boolean {
  return phase !== "complete" && phase !== "abandoned";
}

/** What a person can do with a work as a whole. */
export interface Doable {
  plan: boolean;
  pause: boolean;
  resume: boolean;
  raise: boolean;
  /** Say something about single tasks: only while nothing runs. */
  judge: boolean;
  /** End it; a plan that waits is declined instead, which does the same. */
  abandon: boolean;
}

/** What can be done now. */
export function doable({ work, plans }: Pick<WorkDetailsResponse, "work" | "plans">): Doable {
  const open = isOpen(work);
  const plan = work.phase === "plan_ready" || (open && proposalOf({ plans }) !== null);
  const paused = open && !plan && work.pause !== null;
  return {
    plan,
    pause: open && work.phase !== "plan_ready" && work.pause === null,
    resume: paused && work.pause !== "limit",
    raise: paused && work.pause === "limit",
    judge: paused && work.pause !== "limit",
    abandon: open && work.phase !== "plan_ready",
  };
}
