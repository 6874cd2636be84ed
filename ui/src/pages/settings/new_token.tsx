/** A new token, and its secret, which is shown once. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Code } from "../../parts/code";
import { Dialog } from "../../parts/dialog";
import { Failure } from "../../parts/failure";
import { Field } from "../../parts/field";
import { api } from "../../wire/api";
import type { IssuedToken } from "../../wire/responses";

const SCOPES: readonly { id: string; words: string }[] = [
  { id: "read", words: "See sessions, memories, files and settings" },
  { id: "chat", words: "Chat, and change sessions, memories and files" },
  { id: "approve", words: "Approve or deny tool calls" },
  { id: "admin", words: "Change settings, models and tokens" },
];

export function NewToken({ onMade, onClose }: { onMade: (token: IssuedToken) => void; onClose: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>(["read", "chat"]);
  const [until, setUntil] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    // The whole of the last day, as the person who chose it sees days.
    const expires = until ? new Date(`${until}T23:59:59`).toISOString() : null;
    try {
      onMade(await api.post<IssuedToken>("/api/tokens", { name: name.trim(), scopes, expires_at: expires }));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const toggle = (id: string, on: boolean) => setScopes(on ? [...scopes, id] : scopes.filter((each) => each !== id));
  return (
    <Dialog title="Create a token" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void send(event)}>
        <Field label="Name" value={name} onInput={setName} maxLength={100} required placeholder="phone" hint="What it is for." />
        <fieldset class="checks">
          <legend class="field-label">Scopes</legend>
          {SCOPES.map(({ id, words }) => (
            <label key={id} class="check-line">
              <input type="checkbox" checked={scopes.includes(id)} onChange={(event) => toggle(id, event.currentTarget.checked)} />
              <span>
                <span class="mono">{id}</span> <span class="soft small">{words}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <Field label="Expires" type="date" value={until} onInput={setUntil} hint="Leave empty for no expiry." />
        {error !== null && <Failure error={error} />}
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" disabled={busy || !name.trim() || scopes.length === 0}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The secret of a token that was just made. */
export function Secret({ token, onClose }: { token: IssuedToken; onClose: () => void }) {
  const actions = (
    <Button kind="main" onClick={onClose}>
      Done
    </Button>
  );
  return (
    <Dialog title={`Token ${token.name}`} onClose={onClose} actions={actions}>
      <div class="stack">
        <p>Copy it now. It will not be shown again.</p>
        <Code text={token.secret} />
      </div>
    </Dialog>
  );
}
