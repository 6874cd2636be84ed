/** Something that somebody has started: whether it runs, and what went wrong. */

import { useCallback, useState } from "preact/hooks";

interface Work {
  busy: boolean;
  error: unknown;
  run: (work: () => Promise<unknown>) => Promise<void>;
}

/** One piece of work at a time, such as a form that is sent. */
export function useWork(): Work {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = useCallback(async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  }, []);
  return { busy, error, run };
}
