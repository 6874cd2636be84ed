/** What the server tells of grants and decisions. */

/** An answer that is good for later calls, too. */
export interface GrantTold {
  id: string;
  /** The only session it is good for; null for all. */
  session_id: string | null;
  tool: string;
  scope: string;
  created_at: string;
  used: number;
  revoked_at: string | null;
}

/** What was decided about a call. */
export interface JudgementTold {
  at: string;
  session_id: string;
  turn_id: string;
  tool_call_id: string;
  tool: string;
  /** The beginning of the arguments, as JSON text. */
  args: string;
  decision: string;
  why: string;
  who: string;
}
