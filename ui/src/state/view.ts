/** The view of a session: what its log means, ready to be drawn. Only data. */

import type { Json, RecalledMemory, TaskItem } from "../wire/events";
import type { RoutingResponse } from "../wire/responses";

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

/** An agent that works for a turn; the numbers are null until its receipt is there. */
export interface Delegate {
  /** Its turn. */
  id: string;
  /** name@version. */
  agent: string;
  task: string;
  session: string;
  /** Whether nobody waits for it. */
  background: boolean;
  /** Such as done or failed; null while it works. */
  status: string | null;
  tokens: number | null;
  cost: number | null;
  seconds: number | null;
  /** Whether it looked at nothing although its task names files or sources. */
  noWork: boolean;
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
  /** The agents that it has set to work. */
  delegates: readonly Delegate[];
  at: string;
}

/** The question of a delegate, which its own call asks in its own session. */
export interface AskedBelow {
  kind: "below";
  key: string;
  /** Who asks, from the first agent on. */
  path: string;
  tool: string;
  input: Json;
  approval: Approval;
}

/** The links of a chain; a turn has one of these. */
export interface Links {
  kind: "links";
  key: string;
  delegates: readonly Delegate[];
}

/** Another agent answers from here on. */
export interface AgentChange {
  kind: "agent";
  key: string;
  /** name@version; empty for the home's own. */
  agent: string;
  /** Why it was chosen; null if somebody named it. */
  routed: RoutingResponse | null;
  /** The message that it was chosen for. */
  prompt: string;
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
export type Item = Words | Call | AskedBelow | Links | AgentChange | Recollection | Progress | Notice | Checked | Said;

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
  /** name@version of the agent that answers; empty for the home's own. */
  agent: string | null;
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
  agent: null,
  answered: "",
};
