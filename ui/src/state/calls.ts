/** The calls of a turn, and the questions whether they may run. Pure. */

import type { ApprovalRequested, ApprovalResolved, Event } from "../wire/events";
import type { Approval, AskedBelow, Call, Item, Turn } from "./view";

/** A turn in which one call is another. */
export function withCall(turn: Turn, id: string, change: (call: Call) => Call): Turn {
  const at = turn.items.findLastIndex((item) => item.kind === "call" && item.id === id);
  return at < 0 ? turn : { ...turn, items: turn.items.with(at, change(turn.items[at] as Call)) };
}

/** Whether a part of a turn waits for a person. */
export function isAsking(item: Item): boolean {
  return (item.kind === "call" && item.state === "asking") || (item.kind === "below" && item.approval.answer === null);
}

/** Whether an event is about the question of a delegate, which in the background may come after the turn's end. */
export function isBelow(turn: Turn, event: Event): boolean {
  if (event.type === "approval_request") return Boolean(event.path);
  return event.type === "approval_resolved" && turn.items.some((item) => item.kind === "below" && item.approval.id === event.approval_id);
}

/** A turn after a question: of a call of its own, or of one of a delegate. */
export function asked(turn: Turn, event: ApprovalRequested): Turn {
  const approval: Approval = {
    id: event.approval_id,
    question: event.question,
    scope: event.scope,
    expiresAt: event.expires_at,
    answer: null,
  };
  // Old logs do not say.
  if (!event.path || turn.items.some((item) => item.kind === "call" && item.id === event.tool_call_id)) {
    return withCall(turn, event.tool_call_id, (call) => ({ ...call, state: "asking", approval }));
  }
  const { path, tool, input } = event;
  return { ...turn, items: [...turn.items, { kind: "below", key: `below-${approval.id}`, path, tool, input, approval }] };
}

/** A turn after an answer. */
export function answered(turn: Turn, event: ApprovalResolved): Turn {
  const { allowed, reason, lasting } = event;
  const answer = { allowed, reason, lasting };
  const at = turn.items.findLastIndex((item) => item.kind === "below" && item.approval.id === event.approval_id);
  if (at >= 0) {
    const below = turn.items[at] as AskedBelow;
    return { ...turn, items: turn.items.with(at, { ...below, approval: { ...below.approval, answer } }) };
  }
  return withCall(turn, event.tool_call_id, (call) => ({
    ...call,
    state: call.state === "asking" ? (allowed ? "running" : "denied") : call.state,
    approval: call.approval && { ...call.approval, answer },
  }));
}
