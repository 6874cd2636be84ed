/** The address of a server that speaks as OpenAI does: tested, then used. */

import { useState } from "preact/hooks";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Failure } from "../parts/failure";
import { Field, Select } from "../parts/field";
import { Icon } from "../parts/icon";
import { useAction } from "../state/action";
import { api } from "../wire/api";
import type { ServerTried } from "../wire/responses";
import type { OnConnected } from "./setup";

export function Address({ onConnected }: { onConnected: OnConnected }) {
  const [address, setAddress] = useState("");
  const [key, setKey] = useState("");
  const [model, setModel] = useState("");
  const [tested, setTested] = useState<ServerTried | null>(null);
  const { busy, error, run } = useAction();
  const asked = () => ({ base_url: address.trim(), ...(key.trim() && { api_key: key.trim() }) });
  const test = async () => {
    setTested(null);
    const told = await api.post<ServerTried>("/api/models/servers/test", asked());
    setTested(told);
    setModel(told.models[0] ?? "");
  };
  const use = async () => {
    await api.post("/api/models/servers", { ...asked(), ...(model && { model }) });
    setTested(null);
    await onConnected(model ? `${model} is the default model now.` : "The server was added.");
  };
  const change = (set: (text: string) => void) => (text: string) => {
    set(text);
    setTested(null);
  };
  return (
    <Card title="Model server">
      <form
        class="setup-form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(test);
        }}
      >
        <Field label="Address" value={address} onInput={change(setAddress)} placeholder="http://127.0.0.1:11434/v1" />
        <Field label="Key, if it needs one" type="password" autoComplete="off" value={key} onInput={change(setKey)} />
        <Button type="submit" disabled={busy || !address.trim()}>
          {busy ? "Testing" : "Test"}
        </Button>
      </form>
      <p class="soft small">Ollama, LM Studio, llama.cpp, vLLM, or any other server with an OpenAI-compatible API.</p>
      <div aria-live="polite">
        {tested && (
          <p class={tested.ok ? "setup-tested" : "setup-tested setup-bad"}>
            <Icon name={tested.ok ? "check" : "warning"} />
            <span>
              {tested.message} {tested.hint && <span class="soft">{tested.hint}</span>}
            </span>
          </p>
        )}
      </div>
      {tested?.ok && (
        <div class="setup-form">
          {tested.models.length > 0 && (
            <Select
              label="Model"
              value={model}
              options={tested.models.map((name) => ({ value: name, label: name }))}
              onChange={setModel}
            />
          )}
          <Button kind="main" disabled={busy} onClick={() => void run(use)}>
            {model ? "Use this model" : "Add server"}
          </Button>
        </div>
      )}
      {error !== null && <Failure error={error} />}
    </Card>
  );
}
