/** The list of sessions, kept fresh by what is overheard. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { overhear } from "../../state/activity";
import { api } from "../../wire/api";
import type { SessionList, SessionResponse } from "../../wire/responses";

const PAGE = 40;
const PATIENCE = 250;
const TELLING: ReadonlySet<string> = new Set([
  "message", "renamed", "done", "stopped", "limit", "error", "model_changed", "mode_changed", "catch_up",
]);

export interface Sessions {
  list: readonly SessionResponse[] | null;
  total: number;
  error: unknown;
  more: (() => void) | null;
  again: () => void;
}

/** Sessions of an origin that match a search; all of those for an empty one. */
export function useSessions(search: string, origin: string): Sessions {
  const [answer, setAnswer] = useState<SessionList | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [limit, setLimit] = useState(PAGE);
  const [count, setCount] = useState(0);
  const timer = useRef(0);
  const again = useCallback(() => setCount((before) => before + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    // A moment of patience: somebody may still type.
    const wait = setTimeout(
      () =>
        api
          .get<SessionList>("/api/sessions", { q: search.trim(), limit, origin }, leaving.signal)
          .then((told) => {
            setAnswer(told);
            setError(null);
          })
          .catch((failure: unknown) => !leaving.signal.aborted && setError(failure)),
      search && count === 0 ? PATIENCE : 0,
    );
    return () => {
      clearTimeout(wait);
      leaving.abort();
    };
  }, [search, origin, limit, count]);
  useEffect(
    () =>
      overhear((heard) => {
        if (!TELLING.has(heard.type)) return;
        // Many things happen together, and the list is read once for all of them.
        clearTimeout(timer.current);
        timer.current = setTimeout(again, PATIENCE) as unknown as number;
      }),
    [],
  );
  const more = answer && answer.next !== null ? () => setLimit((before) => before + PAGE) : null;
  return { list: answer?.sessions ?? null, total: answer?.total ?? 0, error, more, again };
}
