/** One message, tried with one version of an agent in a session of its own. */

import { madeUp } from "../../state/session";
import { api } from "../../wire/api";
import type { Event } from "../../wire/events";
import type { ChatResponse, EventList, TurnResponse } from "../../wire/responses";

/** What came of it. */
export interface Attempt {
  session: string;
  /** Such as done, or waiting. */
  status: string;
  text: string;
  /** How often each tool was called. */
  calls: readonly (readonly [tool: string, count: number])[];
  tokens: number;
  /** Null when no price is known. */
  cost: number | null;
  seconds: number | null;
}

/** Which tools were called how often, in the order of their first calls. Pure. */
export function callsOf(events: readonly Event[]): [tool: string, count: number][] {
  const counts = new Map<string, number>();
  for (const event of events) if (event.type === "tool_call") counts.set(event.tool, (counts.get(event.tool) ?? 0) + 1);
  return [...counts];
}

/** How long a turn took; null while it has not ended. Pure. */
export function secondsOf({ created_at: began, ended_at: ended }: Pick<TurnResponse, "created_at" | "ended_at">): number | null {
  return ended === null ? null : (Date.parse(ended) - Date.parse(began)) / 1000;
}

/** A name for the session of an attempt. */
export function attemptSession(): string {
  return `try-${madeUp()}`;
}

/** Say it, and tell what came of it. */
export async function attempt(session: string, label: string, message: string): Promise<Attempt> {
  const name = encodeURIComponent(session);
  const told = await api.post<ChatResponse>(`/api/chat/${name}`, { message, agent: label });
  const [turn, { events }] = await Promise.all([
    api.get<TurnResponse>(`/api/turns/${encodeURIComponent(told.turn_id)}`),
    api.get<EventList>(`/api/sessions/${name}/events`, { limit: 1000 }),
  ]);
  const { input_tokens: input, output_tokens: output, cost } = told.usage;
  return { session, status: told.status, text: told.text, calls: callsOf(events), tokens: input + output, cost, seconds: secondsOf(turn) };
}
