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
