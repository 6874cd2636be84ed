// Made by ui/shapes.py from the shapes in domain/events.py; change them, then run it.

/** Anything that JSON can say. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Where an event stands in its session's log. */
export interface Place {
  seq: number;
  session_id: string;
  turn_id: string | null;
  at: string;
}

/** Whose passing news a delta is. */
export interface Whose {
  session_id: string;
  turn_id: string;
}

/** One memory as listeners see it. */
export interface RecalledMemory {
  id: number;
  kind: string;
  /** Who said it: user, agent, tool or web. */
  trust: string;
  source: string;
  session_id: string | null;
  at: string;
  /** The beginning of it. */
  text: string;
}

/** One task as listeners see it. */
export interface TaskItem {
  number: number;
  title: string;
  status: string;
  parent: number | null;
}

/** What a turn used. */
export interface UsageTotals {
  input_tokens: number;
  output_tokens: number;
  /** US dollars; None when no request of the turn had a known price. */
  cost: number | null;
}

/** A message is on disk and will be answered. */
export interface MessageAccepted {
  type: "message";
  content: string;
  origin: string;
  /** Whether it is for the turn that runs, at its next step. */
  steer: boolean;
}

/** A turn goes on after its process died or a person asked for it. */
export interface TurnResumed {
  type: "resumed";
  /** How often the turn has been picked up since it last got on, this time included. */
  attempt: number;
  /** Whether a person asked for it, after the turn had ended. */
  asked: boolean;
}

/** The model asked for a tool. */
export interface ToolCalled {
  type: "tool_call";
  tool: string;
  input: Json;
  tool_call_id: string;
  effect: string;
}

/** A tool call has an outcome. */
export interface ToolReturned {
  type: "tool_result";
  tool: string;
  tool_call_id: string;
  result_preview: string;
  duration_ms: number;
  success: boolean;
  /** done, failed, denied or uncertain. */
  outcome: string;
}

/** A call waits for a person's answer. */
export interface ApprovalRequested {
  type: "approval_request";
  approval_id: string;
  tool: string;
  input: Json;
  tool_call_id: string;
  question: string;
  /** What a lasting answer would cover; empty when only this call can be allowed. */
  scope: string;
  /** Until when it can be answered; null for ever. */
  expires_at: string | null;
  /** Who asks, if a delegate does: ``main > researcher``. */
  path: string;
}

/** A question was answered or withdrawn, or has expired. */
export interface ApprovalResolved {
  type: "approval_resolved";
  approval_id: string;
  tool_call_id: string;
  allowed: boolean;
  reason: string;
  /** How long the answer is good for: once, session or always. */
  lasting: string;
}

/** A call waits for the program that asked: it runs the tool, and delivers the result. */
export interface ClientCalled {
  type: "client_call";
  tool: string;
  input: Json;
  tool_call_id: string;
}

/** Memories came to mind before the model was asked. */
export interface MemoriesRecalled {
  type: "recalled";
  memories: RecalledMemory[];
  /** Why only a part of the search was available; empty when all of it was. */
  degraded: string;
}

/** The model finished a piece of text. */
export interface TextWritten {
  type: "text";
  text: string;
}

/** The session's task tree changed. */
export interface TasksChanged {
  type: "task_update";
  tasks: TaskItem[];
  summary: string;
}

/** Another model answered than the one that was asked. */
export interface ModelFellBack {
  type: "model_fallback";
  asked: string;
  answered: string;
  reason: string;
}

/** A server has read only the end of what it was sent: the model works without the beginning. */
export interface PromptTruncated {
  type: "prompt_truncated";
  model: string;
  /** What was sent, about. */
  sent_tokens: number;
  /** What the server says it has read: all that it has room for. */
  window: number;
  /** What mends it. */
  hint: string;
}

/** A person chose another model for the session. */
export interface ModelChanged {
  type: "model_changed";
  model: string;
}

/** A person lets the session go farther on its own, or less far. */
export interface ModeChanged {
  type: "mode_changed";
  mode: string;
}

/** The session has another title. */
export interface SessionRenamed {
  type: "renamed";
  title: string;
}

/** The model begins anew: what was said before stays in the log, and is not shown to it. */
export interface SessionCleared {
  type: "cleared";
}

/** Turns leave the view of the model; a summary stands for them, or a line for each. */
export interface SessionCompacted {
  type: "compacted";
  /** The number of the first of them. */
  first: number;
  last: number;
  /** Whether a summary was made and believed. */
  summary: boolean;
  /** Why summaries were refused. */
  faults: string[];
}

/** A skill of the session's owner is proposed, in use, or not any more. */
export interface SkillChanged {
  type: "skill";
  name: string;
  version: number;
  /** proposed, enabled or disabled. */
  change: string;
  /** Why, when that is not plain. */
  note: string;
}

/** Another agent answers from this turn on. */
export interface AgentChanged {
  type: "agent_changed";
  /** name@version; empty for the home's own. */
  agent: string;
  /** Why it was chosen, if nobody named it. */
  routed: Record<string, Json> | null;
}

/** An agent begins to work for the turn. */
export interface DelegateStarted {
  type: "delegate_started";
  /** name@version. */
  agent: string;
  task: string;
  /** The call that began it, or the link of a chain. */
  tool_call_id: string;
  delegate_session: string;
  /** Its turn. */
  delegate_id: string;
  background: boolean;
}

/** An agent that worked for the turn has ended, and its receipt is there. */
export interface DelegateEnded {
  type: "delegate_done";
  agent: string;
  tool_call_id: string;
  delegate_session: string;
  delegate_id: string;
  status: string;
  tokens: number;
  cost: string;
  seconds: number;
  /** Whether it made no call although its task names files or sources. */
  no_work_seen: boolean;
}

/** A rule is suggested, pinned, enforced, or not any more. */
export interface RuleChanged {
  type: "rule";
  rule_id: number;
  text: string;
  scope: string;
  /** suggested, active, lifted or dismissed. */
  state: string;
  /** How it came about: person, quotation, detector or import. */
  source: string;
  /** Whether the gate enforces it, too. */
  enforced: boolean;
}

/** Much of a budget is used; told once in a turn. */
export interface BudgetTight {
  type: "budget";
  /** turn, work, session or day. */
  scope: string;
  /** tokens or cost. */
  resource: string;
  limit: number;
  /** Whether only the part is left that is kept for a last answer. */
  wrap_up: boolean;
}

/** A work is in another phase, is paused, or goes on. */
export interface WorkPhaseChanged {
  type: "work_phase";
  work_id: string;
  goal: string;
  /** planning, plan_ready, executing, reviewing, complete or abandoned. */
  phase: string;
  /** limit, question, stuck or person, while it is paused. */
  pause: string | null;
  /** What a person is asked or told about it. */
  note: string;
  plan_version: number;
}

/** A plan, or a change of one, waits for a person: approve_plan or revise_plan answers. */
export interface PlanReady {
  type: "plan_ready";
  work_id: string;
  /** Which version it would be. */
  version: number;
  tasks: TaskItem[];
  /** Why the plan is to be changed; empty for the first one. */
  reason: string;
  /** What it may take, in words. */
  forecast: string;
}

/** Whoever checks a task has looked. */
export interface EvidenceFound {
  type: "evidence";
  work_id: string;
  task: number;
  /** file, command, call, fetch, judged or human. */
  kind: string;
  /** claimed, verified, refuted, judged or waived. */
  state: string;
  proof: string;
  by: string;
}

/** A work repeats itself: it is told, then has to find another way, then waits for a person. */
export interface WorkStuck {
  type: "stuck";
  work_id: string;
  signal: string;
  detail: string;
  /** How often since a person last looked. */
  alerts: number;
}

/** A turn took far more or far less than the turns of its agent usually do. */
export interface AgentAnomaly {
  type: "agent_anomaly";
  /** As in coder@2. */
  agent: string;
  /** tokens or seconds. */
  what: string;
  value: number;
  /** The median of its turns before. */
  usual: number;
}

/** The turn has its final answer. */
export interface TurnDone {
  type: "done";
  text: string;
  iterations: number;
  model: string;
  usage: UsageTotals;
  mode: string;
  /** Paths, commands, URLs, test counts and exit codes that the answer claims and that none of the session's newest 2,000 calls knows, denied ones aside; at most ten. */
  not_seen: string[];
}

/** A person stopped the turn. */
export interface TurnStopped {
  type: "stopped";
  /** The words that had been written by then. */
  text: string;
}

/** A budget ended the turn. */
export interface TurnLimited {
  type: "limit";
  limit: string;
  /** Which limit it was and what is left to do. */
  text: string;
}

/** The turn could not go on; it can be retried. */
export interface TurnFailed {
  type: "error";
  code: string;
  message: string;
  hint: string;
}

/** A message was given to the turn that runs, beside the results of a step. */
export interface MessageSteered {
  type: "steered";
  content: string;
  /** The turn that it was given to, and that answers it. */
  into: string;
}

/** The model is being asked. */
export interface StepBegan {
  type: "thinking";
  iteration: number;
  max_iterations: number | null;
  tokens_used: number;
  token_budget: number | null;
  /** How far the session's tasks are. */
  task_summary: string;
}

/** A few more words of an answer in the making. */
export interface WordsArrived {
  type: "text_delta";
  text: string;
  iteration: number;
}

/** A model request failed and is made again: forget the words of this step. */
export interface RequestRetried {
  type: "retry";
  model: string;
  reason: string;
  wait_seconds: number;
  iteration: number;
}

/** The listener was too slow: words of this step are lost to it, facts are not. */
export interface FellBehind {
  type: "catch_up";
}

/** A fact, as it was stored. */
export type Event = Place &
  (
  | MessageAccepted
  | TurnResumed
  | ToolCalled
  | ToolReturned
  | ApprovalRequested
  | ApprovalResolved
  | ClientCalled
  | MemoriesRecalled
  | TextWritten
  | TasksChanged
  | ModelFellBack
  | PromptTruncated
  | ModelChanged
  | ModeChanged
  | SessionRenamed
  | SessionCleared
  | SessionCompacted
  | SkillChanged
  | AgentChanged
  | DelegateStarted
  | DelegateEnded
  | RuleChanged
  | BudgetTight
  | WorkPhaseChanged
  | PlanReady
  | EvidenceFound
  | WorkStuck
  | AgentAnomaly
  | TurnDone
  | TurnStopped
  | TurnLimited
  | TurnFailed
  | MessageSteered
  );

/** Passing news: never stored, lost without harm. */
export type Delta = Whose &
  (
  | StepBegan
  | WordsArrived
  | RequestRetried
  | FellBehind
  );
