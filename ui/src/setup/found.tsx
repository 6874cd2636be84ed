/** A server of models that runs already: one of its models is all that has to be chosen. */

import { useState } from "preact/hooks";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Failure } from "../parts/failure";
import { Select } from "../parts/field";
import { useAction } from "../state/action";
import type { ModelServerResponse } from "../wire/responses";
import { choose, type OnConnected } from "./setup";

export function Found({ server, onConnected }: { server: ModelServerResponse; onConnected: OnConnected }) {
  const [model, setModel] = useState(server.models[0] ?? "");
  const { busy, error, run } = useAction();
  const use = async () => {
    await onConnected(await choose(model));
  };
  return (
    <Card title={server.source === "detected" ? "Found on this machine" : "Configured server"}>
      <form
        class="setup-form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(use);
        }}
      >
        <Select
          label={server.base_url}
          value={model}
          options={server.models.map((name) => ({ value: name, label: name }))}
          onChange={setModel}
        />
        <Button kind="main" type="submit" disabled={busy}>
          {busy ? "Connecting" : "Use this model"}
        </Button>
      </form>
      {error !== null && <Failure error={error} />}
    </Card>
  );
}
