/** Messages that were sent and are not in a log yet: the browser keeps them until they are. */

import type { Mode } from "../wire/responses";
import type { Frame } from "./log";

/** A message on its way. */
export interface Sent {
  key: string;
  content: string;
  /** Whether it is for the turn that runs. */
  steer?: boolean;
  /** Whether it is for deep work; the session's own mode unless it says so. */
  mode?: Mode;
  /** Who is to answer: an agent, "auto", or empty for the home's own; as before unless it says so. */
  agent?: string;
  /** The last event that was known when it was sent; null when nothing was known yet. */
  after: number | null;
}

const PREFIX = "lra.unsent.";

/** What is still to be delivered in a session. */
export function unsentOf(session: string): readonly Sent[] {
  return JSON.parse(localStorage.getItem(PREFIX + session) ?? "[]") as Sent[];
}

/** Keep what is still to be delivered; nothing is kept of nothing. */
export function keepUnsent(session: string, sent: readonly Sent[]): void {
  try {
    if (sent.length > 0) localStorage.setItem(PREFIX + session, JSON.stringify(sent));
    else localStorage.removeItem(PREFIX + session);
  } catch {
    // The browser's place is full: the message lives as long as the page does.
  }
}

/** Sessions with something to deliver. */
export function sessionsWithUnsent(): string[] {
  return Object.keys(localStorage).flatMap((key) => (key.startsWith(PREFIX) ? [key.slice(PREFIX.length)] : []));
}

/** What is still on its way after these events, of which `last` is the newest. Pure. */
export function pending(sent: readonly Sent[], events: readonly Frame[], last: number): readonly Sent[] {
  const left = sent.map((each) => ({ ...each, after: each.after ?? last }));
  for (const event of events) {
    if (event.type !== "message") continue;
    const at = left.findIndex((each) => each.content === event.content && event.seq > each.after);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}
