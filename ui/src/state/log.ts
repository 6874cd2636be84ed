/** The reducer: events and deltas in, the view of a session out. Live, replayed and old alike. */

import type { Delta, Event } from "../wire/events";
import { notice } from "./notices";
import { after, begun, passing, withoutTail } from "./turn";
import type { Entry, Turn, Used, View, WorkState } from "./view";

/** What the server says to one window only when it lets it in. */
export interface Connected {
  type: "connected";
  session_id: string;
  last_seq: number;
}

/** What the reducer reads. */
export type Frame = Event | Delta | Connected;

/** The view after one more frame; the same object when it changes nothing. */
export function apply(view: View, frame: Frame): View {
  if (frame.type === "connected") return reconnected(view);
  if (!("seq" in frame)) return inTurn(view, frame.turn_id, (turn) => passing(turn, frame));
  if (frame.seq <= view.last) return view;
  return { ...stored(view, frame), last: frame.seq };
}

/** The view after several frames. */
export function applyAll(view: View, frames: readonly Frame[]): View {
  return frames.reduce(apply, view);
}

function stored(view: View, event: Event): View {
  const known = about(view, event);
  if (event.type === "message") return withMessage(known, begun(event));
  if (event.type === "steered") return steered(known, event);
  if (event.turn_id !== null && turnAt(known.entries, event.turn_id) >= 0) {
    return inTurn(known, event.turn_id, (turn) => after(turn, event));
  }
  const told = notice(event);
  return told ? withEntry(known, told) : known;
}

/** What an event says of the session itself. */
function about(view: View, event: Event): View {
  switch (event.type) {
    case "task_update":
      return { ...view, tasks: event.tasks, progress: event.summary };
    case "renamed":
      return { ...view, title: event.title };
    case "model_changed":
      return { ...view, model: event.model };
    case "mode_changed":
      return { ...view, mode: event.mode };
    case "agent_changed":
      return { ...view, agent: event.agent };
    case "work_phase": {
      const { work_id: id, goal, phase, pause, note } = event;
      return { ...view, work: { id, goal, phase, pause, note }, plan: null };
    }
    case "plan_ready": {
      const { work_id: work, version, tasks, reason, forecast } = event;
      return { ...view, plan: { work, version, tasks, reason, forecast } };
    }
    case "done":
      return { ...view, answered: event.model };
    default:
      return view;
  }
}

function withEntry(view: View, entry: Entry): View {
  return { ...view, entries: [...view.entries, entry] };
}

/** A message that steers comes before those that queue, as it will be answered. */
function withMessage(view: View, turn: Turn): View {
  const first = view.entries.findIndex((entry) => entry.kind === "turn" && !isEnded(entry));
  const queues = (entry: Entry) => entry.kind === "turn" && entry.state === "queued" && !entry.steer;
  const at = view.entries.findIndex((entry, place) => place > first && queues(entry));
  if (!turn.steer || at < 0) return withEntry(view, turn);
  return { ...view, entries: view.entries.toSpliced(at, 0, turn) };
}

/** What was given to a turn is a part of it; a copied log names that turn as it was called before. */
function steered(view: View, event: Event & { type: "steered" }): View {
  const entries = view.entries.filter((entry) => entry.kind !== "turn" || entry.id !== event.turn_id);
  const left = { ...view, entries };
  const into = turnAt(entries, event.into) >= 0 ? event.into : (active(left)?.id ?? "");
  return inTurn(left, into, (turn) => after(turn, event));
}

function turnAt(entries: readonly Entry[], id: string): number {
  return entries.findLastIndex((entry) => entry.kind === "turn" && entry.id === id);
}

function inTurn(view: View, id: string, change: (turn: Turn) => Turn): View {
  const at = turnAt(view.entries, id);
  if (at < 0) return view;
  const old = view.entries[at] as Turn;
  const changed = change(old);
  if (changed === old) return view;
  return { ...view, entries: view.entries.with(at, changed) };
}

/** Whoever comes in the middle of a step is told its words so far, from the beginning. */
function reconnected(view: View): View {
  if (!view.entries.some((entry) => entry.kind === "turn" && (entry.tail || entry.gap))) return view;
  const entries = view.entries.map((entry) => (entry.kind === "turn" ? withoutTail(entry) : entry));
  return { ...view, entries };
}

const ENDED: ReadonlySet<Turn["state"]> = new Set(["done", "stopped", "limited", "failed"]);

/** Whether a turn has its outcome. */
export function isEnded(turn: Turn): boolean {
  return ENDED.has(turn.state);
}

/** The turn that runs, waits or is next in line; null when nothing does. */
export function active(view: View): Turn | null {
  const turns = view.entries.filter((entry): entry is Turn => entry.kind === "turn");
  return turns.find((turn) => !isEnded(turn)) ?? null;
}

/** The last turn, which may be tried again; null before the first. */
export function latest(view: View): Turn | null {
  return (view.entries.findLast((entry) => entry.kind === "turn") as Turn | undefined) ?? null;
}

/** The work of a session that has not ended; null when there is none. */
export function openWork({ work }: View): WorkState | null {
  return work && work.phase !== "complete" && work.phase !== "abandoned" ? work : null;
}

/** What all turns used together. */
export function totals(view: View): Used {
  const sum: Used = { input: 0, output: 0, cost: null };
  for (const entry of view.entries) {
    if (entry.kind !== "turn" || !entry.used) continue;
    sum.input += entry.used.input;
    sum.output += entry.used.output;
    if (entry.used.cost !== null) sum.cost = (sum.cost ?? 0) + entry.used.cost;
  }
  return sum;
}
