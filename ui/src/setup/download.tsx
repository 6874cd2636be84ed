/** The model that runs inside the agent: downloaded once, then used without any server. */

import { useEffect, useState } from "preact/hooks";
import { bytes } from "../parts/amount";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Failure } from "../parts/failure";
import { useAction } from "../state/action";
import { ApiFailure, api } from "../wire/api";
import type { EmbeddedResponse, PullResponse } from "../wire/responses";
import { choose, type OnConnected } from "./setup";

const EVERY = 700;
const PATH = "/api/models/pull";

export function Download({ embedded, onConnected }: { embedded: EmbeddedResponse; onConnected: OnConnected }) {
  const [pull, setPull] = useState<PullResponse | null>(null);
  const { busy, error, run } = useAction();
  const running = pull?.state === "running";
  const follow = async (told: PullResponse, before = pull) => {
    setPull(told);
    if (before?.state !== "running") return;
    if (told.state === "done") await onConnected(await choose(told.name));
    if (told.state === "failed") throw new ApiFailure("failed", told.message, "", 0);
  };
  // One that was begun before this page was opened is shown as well.
  useEffect(() => void run(async () => setPull(await api.get<PullResponse>(PATH))), []);
  useEffect(() => {
    if (!running) return;
    const timer = setTimeout(() => void run(async () => follow(await api.get<PullResponse>(PATH))), EVERY);
    return () => clearTimeout(timer);
  }, [pull]);
  const begin = () => run(async () => setPull(await api.post<PullResponse>(PATH, { name: embedded.name })));
  const use = () => run(async () => onConnected(await choose(embedded.name)));
  const stop = () => run(async () => setPull(await api.delete<PullResponse>(PATH)));
  return (
    <Card title="Built-in model">
      <div class="setup-form">
        <div class="grow">
          <div class="mono">{running ? pull.name : embedded.name}</div>
          <div class="soft small">{embedded.note || "Runs inside the agent, without a server or a key. Small: good to try things out."}</div>
        </div>
        {running ? (
          <Button onClick={() => void stop()}>Cancel</Button>
        ) : embedded.installed ? (
          <Button disabled={busy} onClick={() => void use()}>
            Use this model
          </Button>
        ) : (
          <Button disabled={busy || !embedded.available} onClick={() => void begin()}>
            Download ({bytes(embedded.size_bytes)})
          </Button>
        )}
      </div>
      {running && (
        <div class="setup-progress">
          <progress value={pull.received} max={pull.total || embedded.size_bytes} aria-label={`Downloading ${pull.name}`} />
          <span class="soft small" role="status">
            {pull.message || `${bytes(pull.received)} of ${bytes(pull.total || embedded.size_bytes)}`}
          </span>
        </div>
      )}
      {error !== null && <Failure error={error} />}
    </Card>
  );
}
