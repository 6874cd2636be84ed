/** The agents there are, for whoever chooses one. */

import { api } from "../wire/api";
import type { AgentList, AgentResponse } from "../wire/responses";
import { useAsked, type Asked } from "./asked";

/** All agents, of each the version in use or else the newest. */
export function useAgents(): Asked<AgentList> {
  return useAsked((signal) => api.get<AgentList>("/api/agents", {}, signal), []);
}

/** The names of those in use. */
export function inUse(list: AgentList | null): string[] {
  return (list?.agents ?? []).filter((agent: AgentResponse) => agent.stage === "published").map((agent) => agent.name);
}
