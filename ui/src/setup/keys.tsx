/** A provider and its key. */

import { useState } from "preact/hooks";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Failure } from "../parts/failure";
import { Field, Select } from "../parts/field";
import { useAction } from "../state/action";
import { api } from "../wire/api";
import type { ProviderResponse } from "../wire/responses";
import { choose, type OnConnected } from "./setup";

interface Shape {
  providers: readonly ProviderResponse[];
  current: string;
  onConnected: OnConnected;
}

export function Keys({ providers, current, onConnected }: Shape) {
  const [wanted, setWanted] = useState("");
  const [key, setKey] = useState("");
  const { busy, error, run } = useAction();
  const chosen = providers.find((each) => each.provider === wanted) ?? providers[0];
  if (!chosen) return null;
  const path = `/api/models/keys/${encodeURIComponent(chosen.provider)}`;
  const save = async () => {
    if (key) await api.put(path, { key: key.trim() });
    setKey("");
    const first = !current && chosen.suggested_model;
    await onConnected(first ? await choose(first) : `Key saved. ${chosen.label} can be used now.`);
  };
  const remove = async () => {
    await api.delete(path);
    await onConnected(`The key for ${chosen.label} was removed.`);
  };
  return (
    <Card title="API key">
      <form
        class="setup-form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(save);
        }}
      >
        <Select
          label="Provider"
          value={chosen.provider}
          options={providers.map((each) => ({ value: each.provider, label: each.has_key ? `${each.label} (key saved)` : each.label }))}
          onChange={setWanted}
        />
        <Field
          label="Key"
          type="password"
          autoComplete="off"
          value={key}
          onInput={setKey}
          placeholder={chosen.has_key ? "Saved; enter a new one to replace it" : ""}
        />
        <Button kind="main" type="submit" disabled={busy || (!key.trim() && !(chosen.has_key && !current))}>
          {key.trim() || !chosen.has_key || current ? "Save key" : `Use ${chosen.label}`}
        </Button>
        {chosen.has_key && (
          <Button kind="danger" disabled={busy} onClick={() => void run(remove)}>
            Remove key
          </Button>
        )}
      </form>
      <p class="soft small">Stored on the server, readable only by its owner, and never shown again.</p>
      {chosen.note && <p class="soft small">{chosen.note}</p>}
      {error !== null && <Failure error={error} />}
    </Card>
  );
}
