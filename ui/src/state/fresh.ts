/** Ask again when something was heard that may have changed the answer. */

import { useEffect } from "preact/hooks";
import { overhear } from "./activity";

const PATIENCE = 250;

/** Ask again after one of these events, of one session if it is named; many together count as one. */
export function useFresh(types: ReadonlySet<string>, again: () => void, session?: string): void {
  useEffect(() => {
    let timer = 0;
    const leave = overhear((heard) => {
      if (!types.has(heard.type)) return;
      if (session !== undefined && "session_id" in heard && heard.session_id !== session) return;
      clearTimeout(timer);
      timer = window.setTimeout(again, PATIENCE);
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [again, session]);
}
