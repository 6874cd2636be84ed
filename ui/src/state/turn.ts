/** What an event or a delta makes of the turn it belongs to. Pure. */

import { routingOf } from "../parts/agent_words";
import type { Delta, Event, EvidenceFound, ToolReturned, UsageTotals } from "../wire/events";
import { answered, asked, isAsking, isBelow, withCall } from "./calls";
import { delegateBegan, delegateEnded } from "./delegates";
import { notice } from "./notices";
import type { Call, CallState, Checked, Ending, Item, Turn, Used } from "./view";

/** The turn that a message begins. */
export function begun(event: Event & { type: "message" }): Turn {
  const id = event.turn_id ?? `message-${event.seq}`;
  return {
    kind: "turn",
    key: id,
    id,
    prompt: event.content,
    // Old logs do not say.
    steer: event.steer ?? false,
    origin: event.origin,
    at: event.at,
    endedAt: null,
    state: "queued",
    items: [],
    tail: "",
    gap: false,
    step: null,
    retrying: "",
    ending: null,
    used: null,
  };
}

/** A turn after an event. */
export function after(before: Turn, event: Event): Turn {
  const turn = LEAVING.has(event.type) || isBelow(before, event) ? before : reopened(before);
  switch (event.type) {
    case "resumed":
      return { ...(before === turn ? goesOn(turn) : turn), tail: "", gap: false, state: "running" };
    case "text":
      return { ...added(turn, words(turn, event.text)), tail: "", gap: false, state: live(turn) };
    case "tool_call":
      return { ...added(turn, called(event)), tail: "", state: live(turn) };
    case "client_call":
      return withCall(turn, event.tool_call_id, (call) => ({ ...call, state: "client" }));
    case "tool_result":
      return withCall(turn, event.tool_call_id, (call) => returned(call, event));
    case "approval_request":
      return { ...asked(turn, event), state: turn.ending ? turn.state : "waiting" };
    case "approval_resolved":
      return resumedBy(answered(turn, event));
    case "delegate_started":
      return { ...delegateBegan(turn, event), state: live(turn) };
    case "delegate_done":
      return delegateEnded(turn, event);
    case "agent_changed": {
      // It comes with the message, which may have to wait in line.
      const { agent, routed, seq } = event;
      return added(turn, { kind: "agent", key: `agent-${seq}`, agent, routed: routingOf(routed), prompt: turn.prompt });
    }
    case "recalled":
      return { ...added(turn, recollection(event)), state: live(turn) };
    case "task_update":
      return { ...progressed(turn, event.summary, event.seq), state: live(turn) };
    case "evidence":
      return { ...checked(turn, event), state: live(turn) };
    case "work_phase": {
      // It comes with the message, which may have to wait in line.
      const told = notice(event);
      return told ? added(turn, told) : turn;
    }
    case "steered": {
      const said: Item = { kind: "said", key: `said-${event.seq}`, text: event.content };
      return { ...added(turn, said), state: live(turn) };
    }
    case "done":
    case "stopped":
    case "limit":
    case "error":
      return ended(turn, event);
    default: {
      const told = notice(event);
      return told ? { ...added(turn, told), state: live(turn) } : turn;
    }
  }
}

/** A turn after passing news. */
export function passing(before: Turn, delta: Delta): Turn {
  const turn = reopened(before);
  const state = live(turn);
  switch (delta.type) {
    case "thinking": {
      const step = {
        iteration: delta.iteration,
        most: delta.max_iterations,
        tokens: delta.tokens_used,
        budget: delta.token_budget,
      };
      return { ...turn, state, step, tail: "", gap: false, retrying: "" };
    }
    case "text_delta":
      return { ...turn, state, tail: turn.tail + delta.text, retrying: "" };
    case "retry":
      return { ...turn, state, tail: "", gap: false, retrying: delta.reason };
    case "catch_up":
      return { ...turn, tail: "", gap: true };
  }
}

/** The same turn without words that will be told again. */
export function withoutTail(turn: Turn): Turn {
  return turn.tail || turn.gap ? { ...turn, tail: "", gap: false } : turn;
}

function live(turn: Turn): Turn["state"] {
  return turn.state === "queued" || turn.state === "running" ? "running" : turn.state;
}

/** What does not let a turn go on that has ended: its end, and what is told of it later. */
const LEAVING: ReadonlySet<string> = new Set(["done", "stopped", "limit", "error", "delegate_done", "agent_anomaly"]);

/** A turn that has ended goes on with whatever is heard of it next: somebody asked for that. */
function reopened(turn: Turn): Turn {
  return turn.ending ? { ...goesOn(turn), ending: null, endedAt: null, state: "running" } : turn;
}

function goesOn(turn: Turn): Turn {
  const key = `again-${turn.items.length}`;
  return added(turn, { kind: "notice", key, tone: "plain", title: "Turn resumed", text: "", at: turn.at });
}

function added(turn: Turn, item: Item): Turn {
  return { ...turn, items: [...turn.items, item] };
}

/** How the next words are called: the growing tail has the name that the stored text will have. */
export function nextWords(turn: Turn): string {
  const count = turn.items.reduce((sum, item) => sum + (item.kind === "words" ? 1 : 0), 0);
  return `words-${count}`;
}

function words(turn: Turn, text: string): Item {
  return { kind: "words", key: nextWords(turn), text };
}

function called(event: Event & { type: "tool_call" }): Call {
  return {
    kind: "call",
    key: `call-${event.tool_call_id}`,
    id: event.tool_call_id,
    tool: event.tool,
    input: event.input,
    effect: event.effect,
    state: "running",
    result: "",
    milliseconds: null,
    approval: null,
    delegates: [],
    at: event.at,
  };
}

function recollection(event: Event & { type: "recalled" }): Item {
  const { memories, degraded } = event;
  return { kind: "recalled", key: `recalled-${event.seq}`, memories, degraded };
}

const OUTCOMES: ReadonlySet<string> = new Set(["done", "failed", "denied", "uncertain"]);

function returned(call: Call, event: ToolReturned): Call {
  const usual: CallState = event.success ? "done" : "failed";
  const state = OUTCOMES.has(event.outcome) ? (event.outcome as CallState) : usual;
  return { ...call, state, result: event.result_preview, milliseconds: event.duration_ms };
}

/** A turn goes on with the answer to its last open question. */
function resumedBy(turn: Turn): Turn {
  const waits = turn.items.some(isAsking);
  return waits || turn.state !== "waiting" ? turn : { ...turn, state: "running" };
}

function progressed(turn: Turn, summary: string, seq: number): Turn {
  const at = turn.items.findIndex((item) => item.kind === "tasks");
  const item: Item = { kind: "tasks", key: `tasks-${seq}`, summary };
  if (at < 0) return added(turn, item);
  const items = [...turn.items];
  items[at] = { ...item, key: items[at]!.key };
  return { ...turn, items };
}

function checked(turn: Turn, event: EvidenceFound & { seq: number }): Turn {
  const { work_id, task, state, proof, by } = event;
  const at = turn.items.findIndex((item) => item.kind === "checked");
  const old = turn.items[at] as Checked | undefined;
  const others = old?.findings.filter((each) => each.task !== task) ?? [];
  const findings = [...others, { task, state, proof, by }].sort((one, other) => one.task - other.task);
  const item: Item = { kind: "checked", key: old?.key ?? `checked-${event.seq}`, work: work_id, findings };
  return old ? { ...turn, items: turn.items.with(at, item) } : added(turn, item);
}

type Closing = Event & { type: "done" | "stopped" | "limit" | "error" };

function ended(turn: Turn, event: Closing): Turn {
  const text = event.type === "done" || event.type === "stopped" ? event.text : "";
  const whole = text && !hasWords(turn, text) ? added(turn, words(turn, text)) : turn;
  return {
    ...whole,
    state: STATES[event.type],
    endedAt: event.at,
    tail: "",
    gap: false,
    step: null,
    retrying: "",
    ending: ending(event),
    used: event.type === "done" ? used(event.usage) : turn.used,
  };
}

const STATES = { done: "done", stopped: "stopped", limit: "limited", error: "failed" } as const;

/** The last answer is told as text, and once more when the turn is done. */
function hasWords(turn: Turn, text: string): boolean {
  const plain = text.trim();
  return turn.items.some((item) => item.kind === "words" && item.text.trim() === plain);
}

function ending(event: Closing): Ending {
  switch (event.type) {
    case "done":
      // Old logs do not say.
      return { kind: "done", model: event.model, steps: event.iterations, notSeen: event.not_seen ?? [] };
    case "stopped":
      return { kind: "stopped" };
    case "limit":
      return { kind: "limited", limit: event.limit, text: event.text };
    case "error":
      return { kind: "failed", code: event.code, message: event.message, hint: event.hint };
  }
}

function used(usage: UsageTotals): Used {
  return { input: usage.input_tokens, output: usage.output_tokens, cost: usage.cost };
}
