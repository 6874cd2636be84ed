/** How far a turn has come in the chain of its agent. */

import { useAsked } from "../state/asked";
import { useFresh } from "../state/fresh";
import { agentPath } from "../wire/agents";
import { api } from "../wire/api";
import type { AgentResponse, DelegateList, TurnResponse } from "../wire/responses";
import { nameOf } from "./agent_words";
import { linksRun, type LinkShown } from "./chain";
import { ChainGraph } from "./chain_graph";
import { Loading } from "./empty";
import { Failure } from "./failure";

const TELLING: ReadonlySet<string> = new Set(["delegate_started", "delegate_done", "done", "error", "stopped", "limit", "catch_up"]);
const OVER: ReadonlySet<string> = new Set(["done", "failed", "stopped", "limited"]);

interface Found {
  chain: AgentResponse["chain"];
  links: LinkShown[];
}

async function look(turn: string, signal: AbortSignal): Promise<Found> {
  const path = `/api/turns/${encodeURIComponent(turn)}`;
  const [{ delegates }, { agent, status }] = await Promise.all([
    api.get<DelegateList>(`${path}/delegates`, {}, signal),
    api.get<TurnResponse>(path, {}, signal),
  ]);
  const version = agent.split("@")[1];
  const { chain } = await api.get<AgentResponse>(agentPath(nameOf(agent)), { version }, signal);
  return { chain, links: chain ? linksRun(chain, delegates, OVER.has(status)) : [] };
}

export function TurnChain({ turn }: { turn: string }) {
  const { answer, error, again } = useAsked((signal) => look(turn, signal), [turn]);
  useFresh(TELLING, again);
  return (
    <>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer?.chain && <ChainGraph strategy={answer.chain.strategy} links={answer.links} />}
    </>
  );
}
