/** Everything that happens in all sessions, live: one socket for the whole window. */

import { signal } from "@preact/signals";
import { api } from "../wire/api";
import type { Event } from "../wire/events";
import { Socket, socketAddress, type Link } from "../wire/socket";
import type { ApprovalList, ApprovalView } from "../wire/responses";

/** What is heard here: events, and once in a while that some were missed. */
export type Overheard = Event | { type: "catch_up"; lost: number };

/** The questions that wait for a person, in all sessions. */
export const approvals = signal<readonly ApprovalView[]>([]);

/** Whether the server can be heard. */
export const link = signal<Link>("closed");

const listeners = new Set<(heard: Overheard) => void>();

/** Hear what happens; what is returned ends it. */
export function overhear(listener: (heard: Overheard) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let socket: Socket | null = null;

/** Begin to listen, once somebody was let in. */
export function listen(): void {
  if (socket) return;
  socket = new Socket(() => socketAddress("/ws/activity"), {
    heard: (frame) => heard(frame as Overheard),
    linked: (now) => {
      link.value = now;
      if (now === "open") heard({ type: "catch_up", lost: 0 });
      // A socket does not say why it was refused; a request does, and may lead to the login.
      if (now === "waiting") void api.get("/api/status").catch(() => undefined);
    },
  });
  socket.open();
}

/** Stop listening, when somebody leaves. */
export function deafen(): void {
  socket?.close();
  socket = null;
  approvals.value = [];
}

const ASKING: ReadonlySet<string> = new Set([
  "approval_request",
  "approval_resolved",
  "catch_up",
  "stopped",
]);

function heard(frame: Overheard): void {
  if (ASKING.has(frame.type)) void lookForApprovals();
  for (const listener of listeners) listener(frame);
}

async function lookForApprovals(): Promise<void> {
  try {
    approvals.value = (await api.get<ApprovalList>("/api/approvals")).approvals;
  } catch {
    // The link says already that the server cannot be reached; the next event asks again.
  }
}
