/** Something that is asked of the server while a part of the page is shown. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { overhear } from "./activity";

/** What came of it so far. */
export interface Asked<Answer> {
  answer: Answer | null;
  error: unknown;
  busy: boolean;
  /** Ask once more; what is shown stays until the answer comes. */
  again: () => void;
}

/** Ask, and again whenever one of `about` changes; an answer that comes too late is dropped. */
export function useAsked<Answer>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  about: readonly unknown[],
): Asked<Answer> {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(true);
  const [count, setCount] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    setBusy(true);
    ask(leaving.signal)
      .then((told) => {
        if (leaving.signal.aborted) return;
        setAnswer(told);
        setError(null);
      })
      .catch((failure: unknown) => !leaving.signal.aborted && setError(failure))
      .finally(() => !leaving.signal.aborted && setBusy(false));
    return () => leaving.abort();
  }, [...about, count]);
  const again = useCallback(() => setCount((before) => before + 1), []);
  // What failed while the server was away is asked again when it is back.
  useEffect(() => (error === null ? undefined : overhear((heard) => void (heard.type === "catch_up" && again()))), [error]);
  return { answer, error, busy, again };
}
