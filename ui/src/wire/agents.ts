/** What a person does with agents. */

import { api } from "./api";
import type { AgentResponse } from "./responses";

/** Where the server has an agent. */
export function agentPath(name: string): string {
  return `/api/agents/${encodeURIComponent(name)}`;
}

/** Note that something that was said is for an agent: messages like it go there from now on. */
export function teach(name: string, text: string): Promise<AgentResponse> {
  return api.post<AgentResponse>(`${agentPath(name)}/examples`, { text: text.slice(0, LONGEST) });
}

/** Characters that an example may have. */
const LONGEST = 2000;

/** The delegates of a turn, in the order in which they began. */
export interface DelegateList {
  delegates: DelegationResponse[];
}

/** That a turn works for another, and what came of it. */
export interface DelegationResponse {
  turn_id: string;
  /** The call that began it, or the link of a chain. */
  call_id: string;
  receipt: { agent: string; status: string; tokens: number; cost: string; seconds: number; no_work_seen: boolean } | null;
}
