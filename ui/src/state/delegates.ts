/** The agents that work for a turn: beside the call that began them, or as links of its chain. Pure. */

import type { DelegateEnded, DelegateStarted } from "../wire/events";
import { withCall } from "./calls";
import type { Delegate, Links, Turn } from "./view";

/** A turn after a delegate has begun. */
export function delegateBegan(turn: Turn, event: DelegateStarted): Turn {
  const delegate: Delegate = {
    id: event.delegate_id,
    agent: event.agent,
    task: event.task,
    session: event.delegate_session,
    background: event.background,
    status: null,
    tokens: null,
    cost: null,
    seconds: null,
    noWork: false,
  };
  if (turn.items.some((item) => item.kind === "call" && item.id === event.tool_call_id)) {
    return withCall(turn, event.tool_call_id, (call) => ({ ...call, delegates: [...call.delegates, delegate] }));
  }
  const at = turn.items.findIndex((item) => item.kind === "links");
  if (at < 0) return { ...turn, items: [...turn.items, { kind: "links", key: "links", delegates: [delegate] }] };
  const links = turn.items[at] as Links;
  return { ...turn, items: turn.items.with(at, { ...links, delegates: [...links.delegates, delegate] }) };
}

/** A turn after the receipt of a delegate. */
export function delegateEnded(turn: Turn, event: DelegateEnded): Turn {
  const settled = (delegates: readonly Delegate[]): readonly Delegate[] =>
    delegates.map((each) => (each.id === event.delegate_id ? { ...each, ...receiptOf(event) } : each));
  const items = turn.items.map((item) => {
    const has = (item.kind === "call" || item.kind === "links") && item.delegates.some((each) => each.id === event.delegate_id);
    return has ? { ...item, delegates: settled(item.delegates) } : item;
  });
  return { ...turn, items };
}

function receiptOf(event: DelegateEnded): Partial<Delegate> {
  const { status, tokens, cost, seconds, no_work_seen: noWork } = event;
  return { status, tokens, cost: Number(cost), seconds, noWork };
}

/** Whom a turn waits for: the names of the agents that still work for it, each once. */
export function atWork(turn: Turn): string[] {
  const found = turn.items.flatMap((item) => (item.kind === "call" || item.kind === "links" ? item.delegates : []));
  const working = found.filter((each) => each.status === null && !each.background);
  return [...new Set(working.map((each) => each.agent.split("@", 1)[0]!))];
}
