/** What can be done with the turns of a session. */

import { tell, tellFailure } from "../../parts/toast";
import { go } from "../../router";
import { newSession, type OpenSession } from "../../state/session";
import type { Turn } from "../../state/view";
import { api } from "../../wire/api";
import type { SessionTold } from "../../wire/shapes";

export interface Acts {
  /** Go on from a turn in a new session. */
  fork(turn: Turn): void;
  /** Ask something else in the place of a turn, in a new session that is the same until there. */
  askAgain(turn: Turn, text: string): void;
  /** Take a message back that is in line. */
  withdraw(turn: Turn): void;
}

/** Messages that wait for their session to be opened. */
const waiting = new Map<string, string>();

/** Have a session begin with this as soon as it is opened. */
export function sayOnOpening(session: string, text: string): void {
  waiting.set(session, text);
}

/** What is to be said first; told once. */
export function firstWords(session: string): string | null {
  const text = waiting.get(session) ?? null;
  waiting.delete(session);
  return text;
}

/** The acts of one open session. */
export function actsOf(session: OpenSession): Acts {
  const path = `/api/sessions/${encodeURIComponent(session.id)}`;
  const fork = (turn: string) => api.post<SessionTold>(`${path}/fork`, { turn_id: turn });
  const before = (turn: Turn) => {
    const turns = session.view.peek().entries.filter((entry): entry is Turn => entry.kind === "turn");
    return turns[turns.findIndex((each) => each.id === turn.id) - 1] ?? null;
  };
  const forked = async (turn: Turn) => {
    const copy = await fork(turn.id);
    go("chat", copy.id);
    tell("This is a copy; the session it was made of stays as it is.");
  };
  const askedAgain = async (turn: Turn, text: string) => {
    const kept = before(turn);
    const id = kept ? (await fork(kept.id)).id : newSession();
    sayOnOpening(id, text);
    go("chat", id);
  };
  return {
    fork: (turn) => void forked(turn).catch(tellFailure),
    askAgain: (turn, text) => void askedAgain(turn, text).catch(tellFailure),
    withdraw: (turn) => void api.post(`/api/turns/${encodeURIComponent(turn.id)}/stop`).catch(tellFailure),
  };
}
