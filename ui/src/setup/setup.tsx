/** Connecting a model: a server that was found, a download, a key, or the address of a server. */

import { Loading } from "../parts/empty";
import { Failure } from "../parts/failure";
import { tell } from "../parts/toast";
import { refreshStatus } from "../state/access";
import { useAsked } from "../state/asked";
import { api } from "../wire/api";
import type { ModelChosen, ProviderList } from "../wire/responses";
import { Address } from "./address";
import { Download } from "./download";
import { Found } from "./found";
import { Keys } from "./keys";
import "./setup.css";

/** How a way to a model tells that it was taken. */
export type OnConnected = (words: string) => Promise<void>;

/** Have a model asked from now on. */
export async function choose(name: string): Promise<string> {
  const { note } = await api.post<ModelChosen>("/api/models/select", { model_id: name });
  return note || `${name} is the default model now.`;
}

export function Setup({ current, onDone }: { current: string; onDone?: () => void }) {
  const { answer, error, again } = useAsked((signal) => api.get<ProviderList>("/api/models/providers", {}, signal), []);
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading what="Looking for models" />;
  const connected = async (words: string) => {
    tell(words);
    await refreshStatus();
    again();
    onDone?.();
  };
  const found = answer.servers.filter((server) => server.reachable && server.models.length > 0);
  return (
    <div class="setup">
      {!current && found.map((server) => <Found key={server.base_url} server={server} onConnected={connected} />)}
      <Keys providers={answer.providers} current={current} onConnected={connected} />
      <Address onConnected={connected} />
      <Download embedded={answer.embedded} onConnected={connected} />
    </div>
  );
}
