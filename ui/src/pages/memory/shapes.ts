/** What the server tells of memories. */

/** One remembered item. */
export interface MemoryTold {
  id: number;
  kind: string;
  scope: string;
  /** Who said it. */
  trust: string;
  actor: string;
  source: string;
  content: string;
  session_id: string | null;
  turn_id: string | null;
  event_at: string;
  recorded_at: string;
  /** When it stopped being true; null while it is. */
  valid_to: string | null;
  superseded_by: number | null;
  expires_at: string | null;
  /** How often the same was written. */
  seen: number;
  /** Whether it is in use. */
  enabled: boolean;
}

/** A memory of a list, or one that answers a question, and why. */
export interface MemoryFound extends MemoryTold {
  /** 1 for the best hit of a search; null in a list. */
  score: number | null;
  why: Record<string, number>;
}

export interface MemoryList {
  memories: MemoryFound[];
  /** Why only a part of the search was available; empty when all of it was. */
  degraded: string;
  next: number | null;
}

/** A memory and what hangs on it. */
export interface MemoryShown {
  memory: MemoryTold;
  /** What it has superseded, the latest first. */
  history: MemoryTold[];
  origins: MemoryTold[];
  derived: MemoryTold[];
}

export interface MemoryWritten {
  status: string;
  memory: MemoryTold;
  superseded: MemoryTold | null;
}

/** What was forgotten, or would be. */
export interface Forgotten {
  batch: string | null;
  memories: MemoryTold[];
  /** Those among them that were only derived from the ones that were named. */
  derived: number[];
}

export interface MemoryStats {
  embedder: string | null;
  counts: Record<string, number>;
  spaces: Record<string, number>;
  missing: number;
  trash: number;
}
