/** Something that somebody has started: whether it runs, and what went wrong. */

import { useCallback, useState } from "preact/hooks";

interface Action {
  busy: boolean;
  error: unknown;
  run: (does: () => Promise<unknown>) => Promise<void>;
}

/** One thing at a time, such as a form that is sent. */
export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = useCallback(async (does: () => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    try {
      await does();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  }, []);
  return { busy, error, run };
}
