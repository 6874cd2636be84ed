/** A value a moment later: somebody may still type. */

import { useEffect, useState } from "preact/hooks";

const PATIENCE = 250;

export function useLater(value: string): string {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const wait = setTimeout(() => setLater(value), PATIENCE);
    return () => clearTimeout(wait);
  }, [value]);
  return later;
}
