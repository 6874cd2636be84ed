/** What can be done with the turns of a session. */

import { raisedWords, type Shared } from "../../parts/budget";
import { tell, tellFailure } from "../../parts/toast";
import { go } from "../../router";
import { madeUp, newSession, type OpenSession } from "../../state/session";
import { keepUnsent } from "../../state/unsent";
import type { Turn } from "../../state/view";
import { api } from "../../wire/api";
import type { SessionResponse, TurnList } from "../../wire/responses";

export interface Acts {
  /** Go on from a turn in a new session. */
  fork(turn: Turn): void;
  /** Ask something else in the place of a turn, in a new session that is the same until there. */
  askAgain(turn: Turn, text: string): void;
  /** Pin a message, or a part of it, as a rule. */
  pin(turn: Turn, text: string): void;
  /** Cancel a message that is queued. */
  withdraw(turn: Turn): void;
  /** Raise the limits of the session, or of the day; the turns that they stopped go on. */
  raise(scope: Shared): Promise<void>;
}

/** The acts of one open session. */
export function actsOf(session: OpenSession): Acts {
  const path = `/api/sessions/${encodeURIComponent(session.id)}`;
  const fork = (turn: string) => api.post<SessionResponse>(`${path}/fork`, { turn_id: turn });
  const before = (turn: Turn) => {
    const turns = session.view.peek().entries.filter((entry): entry is Turn => entry.kind === "turn");
    return turns[turns.findIndex((each) => each.id === turn.id) - 1] ?? null;
  };
  const forked = async (turn: Turn) => {
    const copy = await fork(turn.id);
    go("chat", copy.id);
    tell("This is a copy. The original session is unchanged.");
  };
  const askedAgain = async (turn: Turn, text: string) => {
    const kept = before(turn);
    const id = kept ? (await fork(kept.id)).id : newSession();
    keepUnsent(id, [{ key: madeUp(), content: text, after: null }]);
    go("chat", id);
  };
  return {
    fork: (turn) => void forked(turn).catch(tellFailure),
    askAgain: (turn, text) => void askedAgain(turn, text).catch(tellFailure),
    pin: (turn, text) =>
      void api
        .post("/api/rules", { text, session_id: session.id, turn_id: turn.id })
        .then(() => tell("Pinned as a rule."))
        .catch(tellFailure),
    withdraw: (turn) => void api.post(`/api/turns/${encodeURIComponent(turn.id)}/stop`).catch(tellFailure),
    raise: (scope) =>
      api
        .post<TurnList>("/api/budget", { session_id: scope === "session" ? session.id : null })
        .then(({ turns }) => tell(raisedWords(turns.length)))
        .catch(tellFailure),
  };
}
