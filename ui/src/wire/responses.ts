// Made by ui/shapes.py from what the server says of its API; change that, then run it.

import type { Event, Json } from "./events";

/** The latest events, the newest first. */
export interface ActivityResponse {
  activity: Event[];
  /** What to ask for as ``before`` to read on; null at the end. */
  next: string | null;
}

/** An agent as other agents find it, in the form of A2A 1.0. */
export interface AgentCard {
  name: string;
  description: string;
  version: string;
  supportedInterfaces: CardInterface[];
  capabilities: Record<string, boolean>;
  skills: CardSkill[];
  defaultInputModes: string[];
  defaultOutputModes: string[];
  securitySchemes: Record<string, Json>;
}

/** Of each agent the version in use, or else the newest, by name. */
export interface AgentList {
  agents: AgentResponse[];
}

/** What an agent may do less than its owner's settings allow. */
export interface AgentPolicy {
  /** Tools that run only after a person agreed. */
  approvals: string[];
  workspace: WorkspaceMode;
  /** Hosts that its tools may reach, with ``*``; null for those of the settings. */
  network: string[] | null;
}

/** One version of an agent, which never changes. */
export interface AgentResponse {
  name: string;
  /** What it is for: people and the router read it. */
  description: string;
  /** What its model is told first. */
  instructions: string;
  capabilities: string[];
  /** Sentences of people that are for it. */
  examples: string[];
  /** The model it asks; the session's unless given. */
  model: string | null;
  sampling: SamplingOptions;
  tools: ToolChoice;
  policy: AgentPolicy;
  /** What one of its turns may use, delegates included. */
  budget: Limits;
  /** Whether it recalls and writes memories. */
  memory: "shared" | "none";
  input_schema: Record<string, Json> | null;
  /** What its answer has to be, as a JSON schema; any text when unset. */
  output_schema: Record<string, Json> | null;
  /** How far it may hand work on; 0 for not at all. */
  max_chain_depth: number;
  /** The agents that do its work one after another, instead of a model. */
  chain: Chain | null;
  color: string;
  icon: string;
  /** What an imported file said beside; it comes out again on export. */
  extra: Record<string, Json>;
  version: number;
  stage: AgentStage;
  /** Who made it: person, built-in, import:FILE, or agent:NAME. */
  origin: string;
  /** What was left out when it was imported. */
  warnings: string[];
  created_at: string;
  /** Names its content: the same content has the same. */
  digest: string;
}

/** Where a version of an agent stands. */
export type AgentStage = "draft" | "published" | "retired";

/** How each version of an agent has done that did something, the newest first. */
export interface AgentStatsList {
  stats: AgentStatsResponse[];
}

/** How one version of an agent has done. */
export interface AgentStatsResponse {
  /** name@version. */
  agent: string;
  turns: number;
  done: number;
  /** Tasks whose evidence was refuted in its turns. */
  refuted: number;
  tokens: number;
  cost: string;
  p50_seconds: number;
  p95_seconds: number;
  /** The last ones. */
  errors: string[];
  /** What of its last turn is far outside what its turns before took. */
  anomalies: string[];
}

/** An agent as a file. */
export interface AgentText {
  /** Markdown with front matter. */
  text: string;
}

/** All versions of an agent, the newest first. */
export interface AgentVersions {
  versions: AgentResponse[];
}

/** Questions that wait for an answer, the oldest first. */
export interface ApprovalList {
  approvals: ApprovalView[];
}

/** Where a question stands. */
export type ApprovalState = "open" | "allowed" | "denied" | "withdrawn" | "expired";

/** The question whether a call may run. */
export interface ApprovalView {
  id: string;
  session_id: string;
  turn_id: string;
  tool_call_id: string;
  tool: string;
  question: string;
  state: ApprovalState;
  /** Why it was denied, for the model to read. */
  reason: string;
  asked_at: string;
  answered_at: string | null;
  /** How long the answer is good for. */
  lasting: GrantDuration;
  /** From when on nobody may answer any more; null for never. */
  expires_at: string | null;
  input: Json;
  /** What a lasting answer would cover; empty when only this call can be allowed. */
  scope: string;
}

/** One call of a trial. */
export interface Attempt {
  args: Record<string, Json>;
  /** What came back, as JSON text, shortened. */
  shown: string;
  /** Why it failed; empty when it did not. */
  error: string;
  derived: boolean;
  duration_ms: number;
  /** Bytes it used at most; 0 when nobody could tell. */
  memory: number;
}

/** One call that was tried. */
export interface AttemptResponse {
  args: Record<string, Json>;
  /** What came back, as JSON text, shortened. */
  shown: string;
  /** Why it failed; empty when it did not. */
  error: string;
  derived: boolean;
  duration_ms: number;
  /** Bytes it used at most; 0 when nobody could tell. */
  memory: number;
}

/** One limit of a budget, and how much of it is used. */
export interface BudgetLine {
  scope: BudgetScope;
  /** The turn, the session, or the day. */
  key: string;
  /** tokens, cost (US dollars), steps, tool_calls or seconds. */
  resource: string;
  limit: number;
  spent: number;
  /** What requests under way may take at most. */
  held: number;
}

/** The limits of a session and of today; what has no limit is not among them. */
export interface BudgetResponse {
  budget: LineResponse[];
}

/** What a budget is for; each is a part of the next one's. */
export type BudgetScope = "turn" | "parent" | "work" | "session" | "day";

/** Where an agent can be asked. */
export interface CardInterface {
  url: string;
  protocolBinding: string;
  protocolVersion: string;
  /** The model to ask for there. */
  tenant: string;
}

/** What an agent can do. */
export interface CardSkill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  examples: string[];
}

/** Agents that do a piece of work together, in an order that no model decides. */
export interface Chain {
  strategy: ChainStrategy;
  links: ChainLink[];
}

/** One agent of a chain. */
export interface ChainLink {
  agent: string;
  /** What it is given; ``{{input}}`` is the chain's, ``{{1.output.field}}`` an earlier link's. */
  input: string;
  /** When it works, such as ``{"field": "1.output.score", "gte": 0.7}``; always when unset. */
  when: Record<string, Json> | null;
  on_error: "stop" | "continue";
}

/** In which order the links of a chain work. */
export type ChainStrategy = "sequential" | "parallel" | "conditional";

/** What came of a message. */
export interface ChatResponse {
  turn_id: string;
  session_id: string;
  text: string;
  /** done, waiting (for an approval), stopped or limited. */
  status: string;
  mode: string;
  iterations: number;
  usage: UsageTotals;
  model: string;
  approvals: PendingQuestion[];
  /** What the answer claims and no call of the session knows. */
  not_seen: string[];
}

/** One finding. */
export interface CheckResponse {
  name: string;
  state: CheckState;
  detail: string;
  /** What to do about it; empty where nothing has to be done. */
  fix: string;
}

/** What a check found. */
export type CheckState = "ok" | "warning" | "problem";

/** A part of the instructions. */
export interface ContextInstruction {
  /** `base`, `SOUL.md`, `USER.md`, `AGENTS.md`, `rules`, or `client` for what a program brings. */
  source: string;
  text: string;
  tokens: number;
}

/** A memory that comes to mind. */
export interface ContextMemory {
  id: number;
  kind: MemoryKind;
  trust: Trust;
  source: string;
  session_id: string | null;
  at: string;
  text: string;
  tokens: number;
}

/** A message of the session's log. */
export interface ContextMessage {
  role: "user" | "assistant" | "tool" | "system";
  /** Its beginning. */
  text: string;
  /** What it takes as it is shown; of one that is left out, what it would take. */
  tokens: number;
  /** Whole; short, with long results and arguments cut; as a line of a summary; or left out. */
  shown: MessageForm;
  /** Why it is not shown whole: the model's window, or as much as is used of it. */
  reason: "" | "window";
}

/** The next request as it would be made. */
export interface ContextResponse {
  session_id: string;
  /** Messages of the log that are not looked at: too many came after them, or it was cleared. */
  earlier: number;
  model: string;
  /** How many tokens the model holds; null when nobody knows. */
  window: number | null;
  /** The newest message, if it is not in the log yet. */
  prompt: string;
  instructions: ContextInstruction[];
  memories: ContextMemory[];
  /** Why only a part of the memory could be searched; empty when all of it was. */
  degraded: string;
  /** What stands in the place of the turns that are left out: the standing block, with folds. */
  block: string;
  /** Without the newest message, if that is `prompt`. */
  history: ContextMessage[];
  tools: ContextTool[];
  shares: ContextShares;
  /** Why the request could not be made; then all of it is shown as if it fitted. */
  problem: string;
  total: number;
}

/** What each part of a request takes, in tokens as they are estimated. */
export interface ContextShares {
  instructions: number;
  memories: number;
  /** For what stands in the place of turns that are left out. */
  block: number;
  history: number;
  prompt: number;
  tools: number;
  /** For what comes to a request on its way. */
  protocol: number;
}

/** A tool that is offered, or could be. */
export interface ContextTool {
  name: string;
  /** Shipped, made, a foreign server's, brought along for the turn, or a program's own. */
  kind: "built_in" | "skill" | "mcp" | "client" | "added";
  /** What it takes as it is offered; of one that is left out, what it would take. */
  tokens: number;
  /** As it is, with no more than a sentence, or not at all. */
  state: "offered" | "short" | "left_out";
}

/** What proves that a task is done: whoever checks it is not the one who did the task. */
export interface Criterion {
  kind: CriterionKind;
  /** file: the file. */
  path: string;
  /** file, command, call: a text that has to occur in the file, the output or the result. */
  contains: string;
  /** file: the JSON schema that its JSON has to fit. */
  json_schema: Record<string, Json> | null;
  /** file: how long it is at least. */
  min_bytes: number;
  /** command: what bash runs in the workspace. */
  command: string;
  /** command: a regular expression that the output has to match. */
  matches: string;
  /** command: files and folders that must stay as they were when the plan was approved. */
  protects: string[];
  /** call: the tool. */
  tool: string;
  /** call: arguments that it has to have been given, among others. */
  args: Record<string, Json> | null;
  /** fetch: the address. */
  url: string;
  /** fetch: the status that it answers with. */
  status: number;
  /** judged, human: what has to be true. */
  text: string;
}

/** How it is found out whether a task is done. */
export type CriterionKind = "file" | "command" | "call" | "fetch" | "judged" | "human";

/** A job as the routes of cron show it. */
export interface CronJob {
  id: string;
  name: string;
  schedule: string;
  prompt: string;
  session_id: string | null;
  enabled: boolean;
  next_run: string | null;
  last_run: string | null;
  /** How the last run ended, or why there was none. */
  last_status: string | null;
}

/** The jobs, as the routes of cron show them. */
export interface CronList {
  jobs: CronJob[];
}

/** A run that was asked for. */
export interface CronRun {
  id: string;
  turn_id: string | null;
  session_id: string | null;
  outcome: string;
  status: TurnStatus | null;
}

/** The last calendar days, today included. */
export type DayRange = "today" | "7d" | "30d" | "all";

/** What one day took. */
export interface DayUsage {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  /** US dollars, of the requests whose price is known; null when none is. */
  cost: number | null;
  total_tokens: number;
  day: string;
}

/** The agents that work for a turn, in their order. */
export interface DelegateList {
  delegates: DelegationResponse[];
}

/** An agent that works for a turn, and its receipt once it has ended. */
export interface DelegationResponse {
  /** The delegate's turn. */
  turn_id: string;
  parent_id: string;
  /** The call that began it, or the link of a chain. */
  call_id: string;
  /** Its place among those of one call. */
  place: number;
  /** How far it may hand work on. */
  depth: number;
  /** How many of its parent's may be at work at once. */
  parallel: number;
  /** Whether nobody waits for it: its receipt comes as a message of its own. */
  background: boolean;
  receipt: Receipt | null;
  created_at: string;
  ended_at: string | null;
}

/** What was written and reached outside the scope of a plan. */
export interface Drift {
  paths: string[];
  hosts: string[];
}

/** What running a tool again would do. Undeclared tools are ONCE. */
export type Effect = "read" | "idempotent" | "once";

/** The model that runs inside this program. */
export interface EmbeddedResponse {
  name: string;
  size_bytes: number;
  installed: boolean;
  /** Whether it could be run here. */
  available: boolean;
  note: string;
}

/** A session's events after a number, in order. */
export interface EventList {
  events: Event[];
  last_seq: number;
  newest_seq: number;
  more: boolean;
}

/** An event: its own fields beside these, see the page about events. */
export interface EventResponse {
  type: string;
  seq: number;
  session_id: string;
  turn_id: string | null;
  at: string;
}

/** What whoever checks a task has found; the agent writes none. */
export interface Evidence {
  work_id: string;
  /** Its place among those of the work, from 1; 0 until it is stored. */
  number: number;
  task: number;
  kind: CriterionKind;
  state: EvidenceState;
  /** What was seen. */
  proof: string;
  /** Who looked: the harness, the name of a model, or a person. */
  by: string;
  /** The number of the turn in which it was looked. */
  turn: number;
  /** The step; changes in it or later are newer. */
  step: number;
  at: string;
}

/** What is known of a task that is said to be done. */
export type EvidenceState = "claimed" | "verified" | "refuted" | "judged" | "waived";

/** Everything that was looked at. */
export interface Examination {
  /** Whether there is no problem; warnings are none. */
  sound: boolean;
  checks: CheckResponse[];
}

/** What is in a folder; links, devices and what usually holds secrets are left out. */
export interface FileList {
  path: string;
  files: FileResponse[];
  /** Whether there is more than is told. */
  truncated: boolean;
}

/** A file or folder. */
export interface FileResponse {
  path: string;
  size: number;
  folder: boolean;
}

/** Something that a review has found. */
export interface Finding {
  message: string;
  /** What to do about it. */
  repair: string;
  /** The line of the source; 0 when it is about the whole. */
  line: number;
  /** An error keeps it from being a skill; a warning is let pass by a person alone. */
  severity: Severity;
}

/** One planned moment of a job, and what became of it. */
export interface Firing {
  job_id: string;
  planned: string;
  /** What names it among the firings of its job: the moment, or who asked, as in start:ID. */
  key: string;
  outcome: FiringOutcome;
  turn_id: string | null;
  session_id: string | null;
  seen_at: string;
  /** Why it did not run. */
  note: string;
  /** Before which its turn does not begin: late runs are spread, and jitter keeps others back. */
  begins_at: string | null;
}

/** What became of a job's moments, the newest first. */
export interface FiringList {
  firings: FiringResponse[];
}

/** What became of a planned moment; how its turn ended is the turn's own status. */
export type FiringOutcome = "ran" | "changed" | "skipped" | "missed" | "overlap" | "blocked";

/** One planned moment of a job, and what its turn came to. */
export interface FiringResponse {
  firing: Firing;
  /** Where its turn stands; null when it has none, or not any more. */
  status: TurnStatus | null;
  /** The beginning of what the turn answered, or of why it failed. */
  answer: string;
  tokens: number;
  cost: number | null;
  seconds: number;
}

/** A firing with what its turn came to. */
export interface FiringView {
  firing: Firing;
  /** Where its turn stands; null when it has none, or not any more. */
  status: TurnStatus | null;
  /** The beginning of what the turn answered, or of why it failed. */
  answer: string;
  tokens: number;
  cost: number | null;
  seconds: number;
}

/** Turns that one text stands for. */
export interface FoldResponse {
  session_id: string;
  /** The number of its first turn. */
  first: number;
  last: number;
  /** The summary; empty when none was believed, and each turn is a line. */
  text: string;
  /** Of the words it was made of. */
  digest: string;
  model: string;
  /** That asking for it took. */
  tokens: number;
  cost: string | null;
  /** Why summaries were refused. */
  faults: string[];
  /** That the session had taken when it was made. */
  steps: number;
  created_at: string;
}

/** What is left of a work may take: half of such works take less, and nine of ten. */
export interface Forecast {
  tasks: number;
  steps: number[];
  tokens: number[];
  /** US dollars; null when nobody knows the price. */
  cost: number[] | null;
}

/** What was forgotten, or would be. */
export interface Forgotten {
  /** The name to undo it by; null for a rehearsal or when it cannot be undone. */
  batch: string | null;
  memories: MemoryResponse[];
  /** Those among them that were only derived from the ones that were named. */
  derived: number[];
}

/** How long an answer is good for. */
export type GrantDuration = "once" | "session" | "always";

/** What was granted, the newest first. */
export interface GrantList {
  grants: GrantResponse[];
}

/** An answer that is good for later calls, too. */
export interface GrantResponse {
  id: string;
  /** The only session it is good for; null for all. */
  session_id: string | null;
  scope: string;
  created_at: string;
  /** How many calls it has let through. */
  used: number;
  revoked_at: string | null;
  tool: string;
}

/** The process answers. */
export interface HealthResponse {
  status: string;
}

/** What became of a delivery. */
export interface HookReceipt {
  turn_id: string | null;
  session_id: string | null;
  outcome: FiringOutcome;
}

/** Where the deliveries of a webhook go, and what they are signed with. */
export interface HookResponse {
  /** Where they go, by POST. */
  path: string;
  secret: string;
}

/** What a function tells of itself, read from its source. */
export interface Interface {
  /** The name in the source; empty for a guide. */
  function: string;
  description: string;
  /** The JSON Schema of its arguments. */
  parameters: Record<string, Json>;
  /** The JSON Schema of its result; null when it can be anything. */
  returns: Record<string, Json> | null;
  is_async: boolean;
  /** The parameter that takes the context of the call; empty when it takes none. */
  context: string;
}

/** A new token. */
export interface IssuedToken {
  id: string;
  name: string;
  scopes: string[];
  created_at: string;
  used_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  owner: string;
  /** The token itself. Nobody can show it again. */
  secret: string;
}

/** A prompt with a schedule. */
export interface Job {
  name: string;
  /** When it fires, as in "daily 09:00", "every 2h" or "0 9 * * mon-fri". */
  schedule: string;
  prompt: string;
  /** A name such as daily-check, one of its owner's own; made of the name unless given. */
  id: string;
  /** The time zone in which the schedule is read, such as Europe/Berlin. */
  zone: string;
  /** Who runs it; empty for the home's own. */
  agent: string;
  session_mode: JobSession;
  /** The session that is named. */
  session_id: string | null;
  missed: MissedPolicy;
  /** Seconds after which a missed moment does not run any more; one period unless set. */
  max_age: number | null;
  overlap: OverlapPolicy;
  /** Seconds by which a run may be late, the same each time for the same moment. */
  jitter: number;
  /** What one run may use. */
  limits: Limits;
  /** Whether each run is a deep work. */
  deep_work: boolean;
  /** What is looked at first: a command for the sandbox, or an address; the agent is woken only when what comes of it has changed. */
  watch: string;
  /** Seconds without a finished run after which somebody is told. */
  expect_every: number | null;
  /** What is told to the addresses in notices.urls. */
  notify: NoticeKind[];
  state: JobState;
  /** Why it is paused or was proposed. */
  note: string;
  /** Who made it: person, agent, or a file such as cron.json. */
  created_by: string;
  /** From which on intervals are counted. */
  anchor: string;
  /** Every planned moment up to here has its firing. */
  cursor: string;
  /** The next moment; null for a job that nothing but a person or a start of the program fires. */
  next_at: string | null;
  /** When somebody is told that nothing was done; null if nothing is expected, or it is told. */
  silent_at: string | null;
  /** Grows with every change. */
  version: number;
  created_at: string;
  /** When a person changed it last. */
  updated_at: string;
}

/** Jobs, by id. */
export interface JobList {
  jobs: JobResponse[];
}

/** A job with its schedule in words and its newest firing. */
export interface JobResponse {
  job: Job;
  schedule: ScheduleView;
  /** The newest firing. */
  last: FiringView | null;
}

/** In which session a job runs. */
export type JobSession = "own" | "new" | "named";

/** Whether a job fires. */
export type JobState = "proposed" | "active" | "paused";

/** Jobs as a file. */
export interface JobText {
  /** JSON, as in cron.json. */
  text: string;
}

/** What was decided, the newest first. */
export interface JudgementList {
  log: JudgementResponse[];
}

/** What was decided about a call. */
export interface JudgementResponse {
  at: string;
  session_id: string;
  turn_id: string;
  tool_call_id: string;
  tool: string;
  /** The arguments as JSON text, or the beginning of it. */
  args: string;
  decision: string;
  why: string;
  who: string;
}

/** Whether a provider has a key. */
export interface KeyResponse {
  provider: string;
  has_key: boolean;
}

/** What is known of a token. */
export interface KnownToken {
  id: string;
  name: string;
  scopes: string[];
  created_at: string;
  used_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  owner: string;
}

/** Something that was learned, or was not and why. */
export interface Learned {
  number: number;
  kind: LearnedKind;
  state: LearnedState;
  text: string;
  /** The words of the log that it rests on. */
  quote: string;
  /** Why it was refused, merged or put aside. */
  reason: string;
  session_id: string | null;
  turn_id: string | null;
  /** The memory that it became, was merged with, or is about. */
  memory_id: number | null;
  /** How often the memory was recalled. */
  shown: number;
  /** How often its words came up in a turn that went well. */
  used: number;
  /** How often it was recalled in a turn whose evidence was refuted. */
  harmed: number;
  at: string;
}

/** What kind of thing was learned. */
export type LearnedKind = "fact" | "lesson" | "rule" | "skill" | "question";

/** What was learned, the newest first. */
export interface LearnedList {
  learned: LearnedResponse[];
}

/** Something that was learned, or was not and why. */
export interface LearnedResponse {
  number: number;
  kind: LearnedKind;
  state: LearnedState;
  text: string;
  /** The words of the log that it rests on. */
  quote: string;
  /** Why it was refused, merged or put aside. */
  reason: string;
  session_id: string | null;
  turn_id: string | null;
  /** The memory that it became, was merged with, or is about. */
  memory_id: number | null;
  /** How often the memory was recalled. */
  shown: number;
  /** How often its words came up in a turn that went well. */
  used: number;
  /** How often it was recalled in a turn whose evidence was refuted. */
  harmed: number;
  at: string;
}

/** What became of it. */
export type LearnedState = "new" | "merged" | "suggested" | "refused" | "resting";

/** What may be used. None means no limit, and 0 means nothing. */
export interface Limits {
  steps: number | null;
  tokens: number | null;
  cost: string | null;
  tool_calls: number | null;
  seconds: number | null;
}

/** A limit, and what is used of it. */
export interface LineResponse {
  scope: BudgetScope;
  /** The turn, the session, or the day. */
  key: string;
  /** tokens, cost (US dollars), steps, tool_calls or seconds. */
  resource: string;
  limit: number;
  spent: number;
  /** What requests under way may take at most. */
  held: number;
}

/** How much the log says. */
export interface LogLevel {
  level: "DEBUG" | "INFO" | "WARNING" | "ERROR";
}

/** An MCP server of mcp.json. */
export interface McpServerResponse {
  name: string;
  /** The program, or the address. */
  where: string;
  state: McpServerState;
  /** Why it is not ready; empty when it is. */
  reason: string;
  tools: ServerToolResponse[];
}

/** How a server is. */
export type McpServerState = "idle" | "starting" | "ready" | "failed" | "disabled";

/** A memory that answers a question, and why. */
export interface MemoryFound {
  id: number;
  kind: MemoryKind;
  scope: MemoryScope;
  trust: Trust;
  actor: string;
  source: string;
  content: string;
  session_id: string | null;
  turn_id: string | null;
  event_at: string;
  recorded_at: string;
  /** When it stopped being true; null while it is. */
  valid_to: string | null;
  superseded_by: number | null;
  expires_at: string | null;
  /** How often the same was written. */
  seen: number;
  /** Whether it is in use: one that is switched off is kept, and no search finds it. */
  enabled: boolean;
  /** How well it answers, from 0 to 1; null in a list. */
  score: number | null;
  /** What each part of the search gave it. */
  why: Record<string, number>;
}

/** What sort of thing is remembered. */
export type MemoryKind = "conversation" | "fact" | "lesson" | "summary" | "note" | "task";

/** Memories: the best hits of a search, or a list with the latest first. */
export interface MemoryList {
  memories: MemoryFound[];
  /** Why only a part of the search was available; empty when all of it was. */
  degraded: string;
  /** The offset of the next page of a list; null on the last one. */
  next: number | null;
}

/** What came back. */
export interface MemoryRemembered {
  memories: MemoryResponse[];
}

/** One remembered item. */
export interface MemoryResponse {
  id: number;
  kind: MemoryKind;
  scope: MemoryScope;
  trust: Trust;
  actor: string;
  source: string;
  content: string;
  session_id: string | null;
  turn_id: string | null;
  event_at: string;
  recorded_at: string;
  /** When it stopped being true; null while it is. */
  valid_to: string | null;
  superseded_by: number | null;
  expires_at: string | null;
  /** How often the same was written. */
  seen: number;
  /** Whether it is in use: one that is switched off is kept, and no search finds it. */
  enabled: boolean;
}

/** Who among an owner's agents and sessions can see a memory. */
export type MemoryScope = "user" | "agent" | "session";

/** A memory and what hangs on it. */
export interface MemoryShown {
  memory: MemoryResponse;
  /** What it has superseded, the latest first. */
  history: MemoryResponse[];
  origins: MemoryResponse[];
  derived: MemoryResponse[];
}

/** How much is remembered. */
export interface MemoryStats {
  /** How many vectors each space has. */
  spaces: Record<string, number>;
  /** How many memories wait for their vector. */
  missing: number;
  /** How many memories could be brought back. */
  trash: number;
  embedder: string | null;
  counts: Record<string, number>;
}

/** What became of it. */
export interface MemoryWritten {
  /** Merged means that the same was known already, switched that no words were changed. */
  status: "stored" | "merged" | "switched";
  memory: MemoryResponse;
  superseded: MemoryResponse | null;
}

/** How a message is shown. */
export type MessageForm = "whole" | "short" | "line" | "left_out";

/** One thing that was said. */
export interface MessageResponse {
  /** The message in the log that it is a part of. */
  seq: number;
  turn_id: string;
  step: number;
  at: string;
  role: "user" | "assistant" | "tool" | "system";
  content: string;
  tool_calls: ToolRequest[];
  /** The tool whose result this is. */
  tool: string;
  /** The call whose result this is. */
  tool_call_id: string;
}

/** What becomes of moments at which nothing ran, because the machine or the process was off. */
export type MissedPolicy = "skip" | "once" | "all";

/** How far a session may go on its own. */
export type Mode = "bounded" | "deep_work";

/** What is asked now. */
export interface ModelChosen {
  model: string;
  session_id: string | null;
  /** What a person should know. */
  note: string;
}

/** Models, and the one that answers. */
export interface ModelList {
  /** The model that answers; empty when none is chosen. */
  current: string;
  models: ModelResponse[];
}

/** A model that can be asked, or could be. */
export interface ModelResponse {
  /** What it is chosen by, as provider:model. */
  name: string;
  /** Settings, a key, the server it was found at, or embedded. */
  source: string;
  /** Tokens it reads at once, where the server says it. */
  context_window: number | null;
  /** What is special about it, or what it lacks. */
  note: string;
  /** False for an embedded model whose weights are not here. */
  installed: boolean;
  /** Whether it answers where a session has not chosen its own. */
  current: boolean;
}

/** A model server. */
export interface ModelServerResponse {
  base_url: string;
  source: "settings" | "detected";
  reachable: boolean;
  /** The names that its models are chosen by. */
  models: string[];
}

/** Whether a model answers. */
export interface ModelTestResponse {
  model: string;
  ok: boolean;
  /** How long it took. */
  seconds: number;
  /** Why it does not answer; empty when it does. */
  error: string;
  /** What to do about it. */
  hint: string;
}

/** What one model took. */
export interface ModelUsage {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  /** US dollars, of the requests whose price is known; null when none is. */
  cost: number | null;
  total_tokens: number;
  model: string;
}

/** What somebody can be told about a job. */
export type NoticeKind = "result" | "failure" | "silence" | "approval";

/** What was told about jobs, or is to be told, the newest first. */
export interface NoticeList {
  notices: NoticeResponse[];
}

/** What was told about a job, or is to be told, to one address. */
export interface NoticeResponse {
  /** What it tells of, as in result:TURN. */
  key: string;
  /** The address, without its secrets. */
  target: string;
  kind: NoticeKind;
  job_id: string;
  title: string;
  text: string;
  session_id: string | null;
  turn_id: string | null;
  /** How often it was tried. */
  attempts: number;
  /** Why the last attempt failed. */
  error: string;
  created_at: string;
  /** When it is tried next; null once it is sent or given up. */
  next_at: string | null;
  sent_at: string | null;
}

/** What becomes of a moment at which the run before has not ended. */
export type OverlapPolicy = "skip" | "queue" | "parallel";

/** Why a work does not go on by itself. */
export type PauseReason = "limit" | "question" | "stuck" | "person";

/** A question that a turn waits for. */
export interface PendingQuestion {
  approval_id: string;
  tool: string;
  question: string;
  /** From when on nobody may answer any more; null for never. */
  expires_at: string | null;
  input: Json;
  scope: string;
}

/** A version of a plan: frozen once it is approved. */
export interface Plan {
  work_id: string;
  version: number;
  state: PlanState;
  /** What it consists of; of a proposed change, the patch. */
  tasks: Record<string, Json>[];
  /** Why it is to be changed. */
  reason: string;
  /** Who decided. */
  by: string;
  /** Digests of files that must stay as they were, by their paths. */
  frozen: Record<string, string>;
  at: string;
}

/** Who approves a plan. */
export type PlanPolicy = "ask" | "auto_within_scope" | "read_only";

/** Where a plan, or a change of one, stands. */
export type PlanState = "proposed" | "approved" | "declined";

/** A rule of the settings; patterns have ``*`` and ``?``, and what is unset fits everything. */
export interface PolicyRule {
  decision: Ruling;
  tool: string;
  program: string | null;
  path: string | null;
  host: string | null;
  reason: string;
  /** Whether its *allow* holds after foreign words, too. */
  tainted: boolean;
}

/** What a tool can do beyond its own result; the gate asks about some of it. */
export type Power = "send" | "execute" | "change" | "remember" | "extend";

/** What a probe question is about. */
export type ProbeKind = "recall" | "artifact" | "continuation" | "decision";

/** What the model could answer. */
export interface ProbeList {
  probes: ProbeResponse[];
}

/** A question about a session, and whether the model could answer it. */
export interface ProbeResponse {
  kind: ProbeKind;
  question: string;
  /** What the answer has to name, word for word. */
  expected: string[];
  answer: string;
  /** What the answer did not name; nothing when the probe passed. */
  missing: string[];
}

/** Files among the skills that cannot be skills, by path. */
export interface ProblemList {
  problems: ProblemResponse[];
}

/** A file among the skills that cannot be one. */
export interface ProblemResponse {
  /** Relative to the workspace. */
  path: string;
  digest: string;
  error: string;
  seen_at: string;
}

/** Every way to a model. */
export interface ProviderList {
  providers: ProviderResponse[];
  servers: ModelServerResponse[];
  embedded: EmbeddedResponse;
}

/** A provider whose models need a key. */
export interface ProviderResponse {
  provider: string;
  /** What people call it. */
  label: string;
  has_key: boolean;
  suggested_model: string;
  /** What it lacks besides a key. */
  note: string;
}

/** How far a download is. */
export interface PullResponse {
  name: string;
  state: "running" | "done" | "failed" | "idle";
  /** Bytes. */
  received: number;
  total: number;
  message: string;
}

/** What a delegate did: every number is from the ledger, none from its words. */
export interface Receipt {
  /** name@version. */
  agent: string;
  session_id: string;
  turn_id: string;
  status: TurnStatus;
  answer: string;
  /** The answer as data, where the agent has an output schema. */
  output: Json;
  error: string;
  tool_calls: Record<string, number>;
  /** Paths, and the digest of what was written. */
  wrote: string[];
  /** Calls of which nobody knows whether they took effect. */
  uncertain: string[];
  tokens: number;
  cost: string;
  seconds: number;
  /** Whose words it has read. */
  foreign: string[];
  /** What its answer claims and no call of it knows. */
  not_seen: string[];
  /** Whether it made no call although its task names files or sources. */
  no_work_seen: boolean;
  /** The delegates below it, by their turns. */
  trace: string[];
}

/** What one run of reflection, or of the curator, did. */
export interface ReflectionResponse {
  sessions: number;
  turns: number;
  learned: Learned[];
  tokens: number;
  /** Why nothing was read, or not all. */
  note: string;
}

/** An agent that a message may be for. */
export interface RouteCandidate {
  /** name@version. */
  agent: string;
  score: number;
  /** What of the message its description, instructions or tools have, the rarest first. */
  words: string[];
  /** The sentence for this agent that is most like the message. */
  near_example: string;
}

/** Which agent a message is for, and why. */
export interface RoutingResponse {
  /** name@version; empty for the home's own agent. */
  to: string;
  /** Who decided; "default" when nobody could. */
  by: "words" | "model" | "person" | "default";
  /** By how much the first is better than the second, from 0 to 1. */
  margin: number;
  /** The best, the first of them first. */
  candidates: RouteCandidate[];
  /** Whether a person should be asked. */
  unsure: boolean;
}

/** Rules: the owner's, then those of a session, in the order they were pinned. */
export interface RuleList {
  rules: RuleResponse[];
  /** What all active rules that a session sees may take of a request. */
  most_tokens: number;
}

/** Something that holds from now on, in the words it was said in. */
export interface RuleResponse {
  id: number;
  text: string;
  scope: RuleScope;
  state: RuleState;
  source: RuleSource;
  /** The session it holds in; null for all of the owner's. */
  session_id: string | null;
  /** The turn it was said in; null when it was written down as a rule at once. */
  turn_id: string | null;
  created_at: string;
  /** When it became active. */
  pinned_at: string | null;
  /** When it was lifted or dismissed. */
  ended_at: string | null;
  /** What the gate enforces of it, whatever the model does. */
  enforced: PolicyRule[];
  /** What it takes of a request, about. */
  tokens: number;
  /** What the gate could enforce of it, and does not yet. */
  offer: string[];
}

/** Where a rule holds. */
export type RuleScope = "session" | "owner";

/** How a rule came about. */
export type RuleSource = "person" | "quotation" | "detector" | "import";

/** Where a rule stands. */
export type RuleState = "suggested" | "active" | "lifted" | "dismissed";

/** What a rule says, or the settings where nobody is there to ask. */
export type Ruling = "allow" | "ask" | "deny";

/** How a model is asked; what is unset is as the settings say. */
export interface SamplingOptions {
  temperature: number | null;
  top_p: number | null;
  presence_penalty: number | null;
  frequency_penalty: number | null;
  max_tokens: number | null;
}

/** A schedule in words, and when it fires next. */
export interface ScheduleResponse {
  words: string;
  /** The next five moments, in the schedule's own zone. */
  next_times: string[];
}

/** A schedule in words, and when it fires next. */
export interface ScheduleView {
  words: string;
  /** The next five moments, in the schedule's own zone. */
  next_times: string[];
}

/** Where a task may write and whom it may reach; empty means that nothing is said. */
export interface Scope {
  /** Files and folders of the workspace; patterns may have * and ?. */
  paths: string[];
  hosts: string[];
}

/** The MCP servers whose tools the agent may use. */
export interface ServerList {
  servers: McpServerResponse[];
}

/** A tool of an MCP server. */
export interface ServerToolResponse {
  /** As the model knows it; as the server does where it is not offered. */
  name: string;
  description: string;
  /** Why it is not offered; empty when it is. */
  refused: string;
}

/** Whether a model server answers. */
export interface ServerTried {
  /** The address that answered, which may end in ``/v1`` where the one given did not. */
  base_url: string;
  /** Whether it gave a list of models. */
  ok: boolean;
  models: string[];
  message: string;
  hint: string;
}

/** What was said in a session, in order. */
export interface SessionHistory {
  session_id: string;
  messages: MessageResponse[];
  /** What to ask for as ``after`` to read on; null at the end. */
  next: number | null;
}

/** Sessions, the latest first. */
export interface SessionList {
  sessions: SessionResponse[];
  /** How many there are in all. */
  total: number;
  /** The offset of the next page; null on the last one. */
  next: number | null;
}

/** Through what a session came to be. */
export type SessionOrigin = "own" | "openai" | "mcp" | "delegate";

/** A session as a list shows it. */
export interface SessionResponse {
  id: string;
  title: string;
  mode: Mode;
  /** The model chosen for this session, or null for the configured one. */
  model: string | null;
  created_at: string;
  updated_at: string;
  forked_from: string | null;
  /** Through what it came to be: ours, or another program. */
  origin: SessionOrigin;
  /** The agent that it is held with, or null for the home's own. */
  agent: string | null;
  turns: number;
  /** The beginning of what was said last. */
  preview: string;
}

/** What one session took. */
export interface SessionUsage {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  /** US dollars, of the requests whose price is known; null when none is. */
  cost: number | null;
  total_tokens: number;
  session_id: string;
  /** Null when the session is deleted. */
  title: string | null;
}

/** Every setting. */
export interface SettingList {
  settings: SettingResponse[];
}

/** One setting. */
export interface SettingResponse {
  key: string;
  /** What is in force, without secrets. */
  value: Json;
  /** Where it came from. */
  origin: string;
  description: string;
  /** Whether it can be changed over HTTP. */
  changeable: boolean;
  /** What was set since, and is in force after a restart; null when nothing was. */
  pending: Json;
}

/** What was written. */
export interface SettingsChanged {
  changed: string[];
  /** Those that are in force only after the server was started again. */
  restart: string[];
}

/** How bad a finding is. */
export type Severity = "error" | "warning";

/** What a person, or the policy, has said about a version. */
export type SkillApproval = "proposed" | "approved" | "rejected";

/** Who brought a version. */
export type SkillCreator = "model" | "person" | "file" | "library" | "import" | "reflection";

/** A call to try a function with. */
export interface SkillExample {
  args: Record<string, Json>;
  /** What it must return, if that is known. */
  result: Json;
  /** Whether it is known. */
  checked: boolean;
  /** Whether nobody gave it: it was made from the signature, and may make no sense. */
  derived: boolean;
}

/** A file of a guide. */
export interface SkillFile {
  path: string;
  content: string;
}

/** What a skill is made of. */
export type SkillKind = "function" | "guide";

/** What one call may use. */
export interface SkillLimits {
  /** Seconds. */
  timeout: number;
  /** Megabytes. */
  memory: number;
}

/** Skills, by name. */
export interface SkillList {
  skills: SkillResponse[];
  /** How many there are like this. */
  total: number;
  /** How many of all skills have a version that waits for an answer. */
  waiting: number;
  /** The offset of the next page; null on the last one. */
  next: number | null;
}

/** From where a version came. */
export interface SkillOrigin {
  origin: SkillCreator;
  session_id: string | null;
  turn_id: string | null;
  /** The tool call that proposed it; a no to that call is a no to the version. */
  call_id: string;
}

/** A skill with what has become of it. */
export interface SkillResponse {
  name: string;
  kind: SkillKind;
  enabled: boolean;
  /** The version in use; null while none was approved. */
  version: number | null;
  newest: number;
  /** The newest version that waits for an answer. */
  proposed: number | null;
  description: string;
  created_at: string;
  updated_at: string;
  calls: number;
  failures: number;
  failures_in_a_row: number;
  /** The newest calls since it was enabled: an x for each that failed, a dot for each other. */
  recent: string;
  used_at: string | null;
  /** Why it is disabled. */
  note: string;
  state: "enabled" | "disabled" | "proposed";
}

/** What a review and a trial say; nothing of it was kept. */
export interface SkillReviewed {
  /** What the skill is called; empty when not even that is known. */
  name: string;
  findings: Finding[];
  /** Null when it could not be read. */
  interface: Interface | null;
  /** The draft's own, then those of the docstring, then derived ones. */
  examples: SkillExample[];
  /** Whether it could be a skill as it is. */
  ok: boolean;
  /** Null when the review found so much that nothing was tried. */
  trial: TrialResponse | null;
}

/** How a version fared in the sandbox. */
export interface SkillTrial {
  at: string;
  passed: boolean;
  /** Why it did not pass. */
  reason: string;
  attempts: Attempt[];
}

/** What the server is and does. */
export interface StatusResponse {
  status: string;
  version: string;
  agent: string;
  model: string;
  started_at: string;
  uptime_seconds: number;
  sessions: number;
  busy: number;
}

/** A piece of work in a session's task tree. */
export interface Task {
  session_id: string;
  /** The task's name within its session: #1, #2 … */
  number: number;
  title: string;
  description: string;
  status: TaskStatus;
  parent: number | null;
  /** What came of it. */
  result: string;
  created_at: string;
  updated_at: string;
  /** Tasks that have to be done before. */
  depends_on: number[];
  /** What proves it. */
  criterion: Criterion | null;
  scope: Scope;
  /** How many steps it may take, about. */
  estimate: number | null;
  /** What was observed on the way. */
  notes: string[];
  /** The work that it is a part of. */
  work_id: string | null;
  /** Whether it stands in an approved plan: then only the plan changes it. */
  planned: boolean;
}

/** Tasks of several sessions, those changed last first. */
export interface TaskList {
  tasks: TaskResponse[];
  /** The offset of the next page; null on the last one. */
  next: number | null;
}

/** A task with its parts. */
export interface TaskNode {
  session_id: string;
  /** The task's name within its session: #1, #2 … */
  number: number;
  title: string;
  description: string;
  status: TaskStatus;
  parent: number | null;
  /** What came of it. */
  result: string;
  created_at: string;
  updated_at: string;
  /** Tasks that have to be done before. */
  depends_on: number[];
  /** What proves it. */
  criterion: Criterion | null;
  scope: Scope;
  /** How many steps it may take, about. */
  estimate: number | null;
  /** What was observed on the way. */
  notes: string[];
  /** The work that it is a part of. */
  work_id: string | null;
  /** Whether it stands in an approved plan: then only the plan changes it. */
  planned: boolean;
  children: TaskNode[];
}

/** A piece of work. */
export interface TaskResponse {
  session_id: string;
  /** The task's name within its session: #1, #2 … */
  number: number;
  title: string;
  description: string;
  status: TaskStatus;
  parent: number | null;
  /** What came of it. */
  result: string;
  created_at: string;
  updated_at: string;
  /** Tasks that have to be done before. */
  depends_on: number[];
  /** What proves it. */
  criterion: Criterion | null;
  scope: Scope;
  /** How many steps it may take, about. */
  estimate: number | null;
  /** What was observed on the way. */
  notes: string[];
  /** The work that it is a part of. */
  work_id: string | null;
  /** Whether it stands in an approved plan: then only the plan changes it. */
  planned: boolean;
}

/** Where a task stands. */
export type TaskStatus = "pending" | "in_progress" | "completed" | "failed" | "cancelled";

/** A session's tasks. */
export interface TaskTree {
  session_id: string;
  /** In the order they were made. */
  tasks: TaskResponse[];
  /** The same, children within their parents. */
  tree: TaskNode[];
  summary: string;
}

/** All tokens. */
export interface TokenList {
  tokens: KnownToken[];
}

/** Which tools an agent may use, of those that its owner's settings allow. */
export interface ToolChoice {
  /** Null for the usual ones. */
  allow: string[] | null;
  deny: string[];
}

/** Every built-in tool, the caller's skills in use, and tools of MCP servers. */
export interface ToolList {
  tools: ToolResponse[];
}

/** A call that the model asked for. */
export interface ToolRequest {
  id: string;
  tool: string;
  input: Json;
}

/** A tool that the model may call. */
export interface ToolResponse {
  name: string;
  family: string;
  /** Whether the settings let the model use it. */
  enabled: boolean;
  /** What running it again would do, at worst. */
  effect: Effect;
  /** What it can do beyond its own result. */
  powers: Power[];
  /** Whether its results are somebody else's words. */
  foreign: boolean;
  description: string;
  /** The JSON Schema of its arguments. */
  parameters: Record<string, Json>;
  /** Whether it was shipped, made (a skill of the caller's that is in use), or is foreign. */
  kind: "built_in" | "skill" | "mcp";
  /** Whether a person is asked before it runs. */
  approval: "never" | "sometimes" | "always";
}

/** Requests, tokens and money. */
export interface TotalResponse {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  /** US dollars, of the requests whose price is known; null when none is. */
  cost: number | null;
  total_tokens: number;
}

/** How it fared in the sandbox. */
export interface TrialResponse {
  at: string;
  passed: boolean;
  /** Why it did not pass. */
  reason: string;
  attempts: Attempt[];
}

/** Who said it. */
export type Trust = "user" | "agent" | "tool" | "web";

/** A session's turns, in order. */
export interface TurnList {
  turns: TurnShape[];
  total: number;
}

/** Where a turn stands, with everything that is known of it. */
export interface TurnResponse {
  turn_id: string;
  session_id: string;
  text: string;
  /** queued, running, waiting (for an approval), done, failed, stopped, limited or steered. */
  status: string;
  mode: string;
  iterations: number;
  usage: UsageTotals;
  /** The turn's place in its session, from 1. */
  number: number;
  prompt: string;
  model: string;
  error: string;
  created_at: string;
  ended_at: string | null;
  /** Whether its message is for the turn that runs, at its next step. */
  steer: boolean;
  /** The agent and version that it is run with, as in ``coder@2``; empty for the home's own. */
  agent: string;
  origin: string;
  tool_calls: number;
  approvals: PendingQuestion[];
  /** What the answer claims and no call of the session knows. */
  not_seen: string[];
}

/** A turn. */
export interface TurnShape {
  turn_id: string;
  session_id: string;
  text: string;
  status: string;
  mode: string;
  iterations: number;
  usage: UsageTotals;
  /** The turn's place in its session, from 1. */
  number: number;
  prompt: string;
  /** The model asked for this turn, or null for the session's. */
  model: string | null;
  error: string;
  created_at: string;
  ended_at: string | null;
  /** Whether its message is for the turn that runs, at its next step. */
  steer: boolean;
  /** The agent and version that it is run with, as in ``coder@2``; empty for the home's own. */
  agent: string;
  origin: string;
  tool_calls: number;
}

/** Where a turn stands. */
export type TurnStatus = "queued" | "running" | "waiting" | "delegating" | "done" | "failed" | "stopped" | "limited" | "steered";

/** What was spent over some days. */
export interface UsageResponse {
  range: DayRange;
  /** Null for all time. */
  since: string | null;
  until: string;
  total: TotalResponse;
  by_model: ModelUsage[];
  by_day: DayUsage[];
  by_session: SessionUsage[];
}

/** What a turn used. */
export interface UsageTotals {
  input_tokens: number;
  output_tokens: number;
  /** US dollars; None when no request of the turn had a known price. */
  cost: number | null;
}

/** How two versions differ. */
export interface VersionDiff {
  /** As ``diff -u`` shows it. */
  diff: string;
}

/** Versions, whole. */
export interface VersionList {
  versions: VersionResponse[];
  total: number;
  /** The offset of the next page; null on the last one. */
  next: number | null;
}

/** One version of a skill. Nothing of it ever changes but its standing. */
export interface VersionResponse {
  name: string;
  number: number;
  kind: SkillKind;
  /** The sha256 of what it is made of. */
  digest: string;
  /** Python; of a guide, its SKILL.md. */
  source: string;
  interface: Interface;
  limits: SkillLimits;
  /** Whether only allowed modules may be imported. */
  safe_mode: boolean;
  allowed_imports: string[];
  examples: SkillExample[];
  /** The other files of a guide. */
  files: SkillFile[];
  /** What its maker calls this version. */
  label: string;
  brought: SkillOrigin;
  created_at: string;
  warnings: Finding[];
  trial: SkillTrial;
  standing: SkillApproval;
  decided_by: string;
  decided_at: string | null;
}

/** An undertaking of a session: a goal that is planned, carried out and proven. */
export interface Work {
  id: string;
  session_id: string;
  goal: string;
  phase: WorkPhase;
  /** Why it does not go on by itself; null while it does. */
  pause: PauseReason | null;
  /** What a person is asked or told about the pause. */
  note: string;
  policy: PlanPolicy;
  scope: Scope;
  /** What all its turns may use together, before anybody raised it. */
  limits: Limits;
  /** Whether a person is there to answer approvals. */
  attended: boolean;
  /** The approved plan; 0 while there is none. */
  plan_version: number;
  /** How many turns it has begun by itself. */
  turns: number;
  /** How often it was reviewed. */
  rounds: number;
  /** Turns in a row without progress. */
  nudges: number;
  /** Of the task states, changes and evidence when it last went on. */
  progress: string;
  /** How often it was found stuck since a person last looked. */
  alerts: number;
  /** How many calls it had made when it was found stuck last. */
  alerted: number;
  /** The newest evidence when a person last looked. */
  looked: number;
  /** Which of its turns has to find another way, with tools that only read; 0 for none. */
  replan: number;
  created_at: string;
  updated_at: string;
  ended_at: string | null;
}

/** A work with all that a person wants to see of it. */
export interface WorkDetailsResponse {
  work: Work;
  tasks: Task[];
  /** The oldest first. */
  evidence: Evidence[];
  /** Tasks whose evidence is older than a change of what it covers. */
  stale: number[];
  /** The versions of the plan, and the changes that were proposed. */
  plans: Plan[];
  budget: BudgetLine[];
  /** What is left may take. */
  forecast: Forecast;
  /** What was written and reached outside the scope of the plan. */
  drift: Drift;
  /** How far it is, in words. */
  summary: string;
}

/** Works, those changed last first. */
export interface WorkList {
  works: WorkResponse[];
  /** How far each of them is, in words. */
  summaries: string[];
}

/** Where a work stands. */
export type WorkPhase = "planning" | "plan_ready" | "executing" | "reviewing" | "complete" | "abandoned";

/** What became of a work. */
export interface WorkReport {
  /** As Markdown. */
  report: string;
}

/** An undertaking of a session: a goal that is planned, carried out and proven. */
export interface WorkResponse {
  id: string;
  session_id: string;
  goal: string;
  phase: WorkPhase;
  /** Why it does not go on by itself; null while it does. */
  pause: PauseReason | null;
  /** What a person is asked or told about the pause. */
  note: string;
  policy: PlanPolicy;
  scope: Scope;
  /** What all its turns may use together, before anybody raised it. */
  limits: Limits;
  /** Whether a person is there to answer approvals. */
  attended: boolean;
  /** The approved plan; 0 while there is none. */
  plan_version: number;
  /** How many turns it has begun by itself. */
  turns: number;
  /** How often it was reviewed. */
  rounds: number;
  /** Turns in a row without progress. */
  nudges: number;
  /** Of the task states, changes and evidence when it last went on. */
  progress: string;
  /** How often it was found stuck since a person last looked. */
  alerts: number;
  /** How many calls it had made when it was found stuck last. */
  alerted: number;
  /** The newest evidence when a person last looked. */
  looked: number;
  /** Which of its turns has to find another way, with tools that only read; 0 for none. */
  replan: number;
  created_at: string;
  updated_at: string;
  ended_at: string | null;
}

/** What an agent may do with the workspace. */
export type WorkspaceMode = "shared" | "own" | "read_only";
