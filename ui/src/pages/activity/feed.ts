/** The feed: old pages and live events as one list, the newest first. Pure. */

import type { Event } from "../../wire/events";

/** What of an event names it. */
export function keyOf(event: Event): string {
  return `${event.session_id} ${event.seq}`;
}

/** Both lists as one; what is in both is there once. */
export function merged(one: readonly Event[], other: readonly Event[]): Event[] {
  const all = new Map<string, Event>();
  for (const event of [...one, ...other]) all.set(keyOf(event), event);
  return [...all.values()].sort(later);
}

function later(one: Event, other: Event): number {
  return other.at.localeCompare(one.at) || other.session_id.localeCompare(one.session_id) || other.seq - one.seq;
}

/** The kinds of events that can be chosen. */
export const FILTERS: readonly { id: string; title: string; types: readonly string[] }[] = [
  { id: "all", title: "Everything", types: [] },
  { id: "said", title: "Messages and answers", types: ["message", "text"] },
  { id: "calls", title: "Tool calls", types: ["tool_call", "tool_result"] },
  { id: "questions", title: "Approvals", types: ["approval_request", "approval_resolved"] },
  { id: "work", title: "Deep work", types: ["work_phase", "plan_ready", "evidence", "stuck"] },
  { id: "trouble", title: "Errors", types: ["error", "limit", "stopped", "model_fallback", "prompt_truncated"] },
];

/** Whether an event is among those that are wanted. */
export function wanted(event: { type: string }, types: readonly string[]): boolean {
  return types.length === 0 || types.includes(event.type);
}
