/** The view of a session: what its log means, ready to be drawn. Only data. */

import type { Json, RecalledMemory, TaskItem } from "../wire/events";

/** Where a turn stands. */
export type TurnState =
  | "queued"
  | "running"
  | "waiting"
  | "done"
  | "stopped"
  | "limited"
  | "failed";

/** Where a call stands; "client" waits for the program that asked. */
export type CallState = "running" | "asking" | "client" | "done" | "failed" | "denied" | "uncertain";

/** A person's answer to a question. */
export interface Answer {
  allowed: boolean;
  reason: string;
  lasting: string;
}

/** The question whether a call may run. */
export interface Approval {
  id: string;
  question: string;
  /** What a lasting answer would cover; empty when only this call can be allowed. */
  scope: string;
  expiresAt: string | null;
  answer: Answer | null;
}

/** Words of the model. */
export interface Words {
  kind: "words";
  key: string;
  text: string;
}

/** A call of a tool. */
export interface Call {
  kind: "call";
  key: string;
  id: string;
  tool: string;
  input: Json;
  effect: string;
  state: CallState;
  result: string;
  milliseconds: number | null;
  approval: Approval | null;
  at: string;
}

/** Memories that came to mind. */
export interface Recollection {
  kind: "recalled";
  key: string;
  memories: RecalledMemory[];
  degraded: string;
}

/** How far the tasks are; a turn has one of these, which changes in place. */
export interface Progress {
  kind: "tasks";
  key: string;
  summary: string;
}

/** Something that a person should know. */
export interface Notice {
  kind: "notice";
  key: string;
  tone: "plain" | "warning";
  title: string;
  text: string;
  at: string;
  /** The work that it is about, where it is about one. */
  work?: string;
}

/** What was found when a task was looked at. */
export interface Finding {
  task: number;
  state: string;
  proof: string;
  by: string;
}

/** Tasks that were looked at; a turn has one of these, with the newest finding for each task. */
export interface Checked {
  kind: "checked";
  key: string;
  work: string;
  findings: readonly Finding[];
}

/** What the user said to the turn while it ran. */
export interface Said {
  kind: "said";
  key: string;
  text: string;
}

/** A part of a turn. */
export type Item = Words | Call | Recollection | Progress | Notice | Checked | Said;

/** What a step said of itself when it began. */
export interface Step {
  iteration: number;
  most: number | null;
  tokens: number;
  budget: number | null;
}

/** How a turn ended. */
export type Ending =
  | { kind: "done"; model: string; steps: number; notSeen: readonly string[] }
  | { kind: "stopped" }
  | { kind: "limited"; limit: string; text: string }
  | { kind: "failed"; code: string; message: string; hint: string };

/** What was used; the cost is null while no price is known. */
export interface Used {
  input: number;
  output: number;
  cost: number | null;
}

/** From one message to its answer. */
export interface Turn {
  kind: "turn";
  key: string;
  id: string;
  prompt: string;
  /** Whether the message is for the turn that runs, as long as it waits. */
  steer: boolean;
  origin: string;
  at: string;
  endedAt: string | null;
  state: TurnState;
  items: readonly Item[];
  /** Words of the step that is being made; the text that is stored takes their place. */
  tail: string;
  /** Whether words before the tail were lost on the way. */
  gap: boolean;
  step: Step | null;
  /** Why the model is asked again just now; empty when it is not. */
  retrying: string;
  ending: Ending | null;
  used: Used | null;
}

/** What a session shows, in order. */
export type Entry = Turn | Notice;

/** The work of a session, as it was last heard of. */
export interface WorkState {
  id: string;
  goal: string;
  phase: string;
  /** Why it does not go on by itself; null while it does. */
  pause: string | null;
  /** What a person is asked or told about that. */
  note: string;
}

/** A plan, or a change of one, that waits for a person. */
export interface WaitingPlan {
  work: string;
  version: number;
  tasks: readonly TaskItem[];
  /** Why the plan is to be changed; empty for a plan. */
  reason: string;
  forecast: string;
}

/** All that is known of a session from its log. */
export interface View {
  /** The number of the last event. */
  last: number;
  entries: readonly Entry[];
  tasks: readonly TaskItem[];
  progress: string;
  /** The newest work; null before the first. */
  work: WorkState | null;
  /** Null when none waits. */
  plan: WaitingPlan | null;
  /** What the log says of these; null where it says nothing. */
  title: string | null;
  model: string | null;
  mode: string | null;
  /** The model that answered last. */
  answered: string;
}

/** A session of which nothing is known. */
export const EMPTY: View = {
  last: 0,
  entries: [],
  tasks: [],
  progress: "",
  work: null,
  plan: null,
  title: null,
  model: null,
  mode: null,
  answered: "",
};
