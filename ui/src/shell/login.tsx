/** The page for whoever is not known yet. */

import { useState } from "preact/hooks";
import { Button } from "../parts/button";
import { Failure } from "../parts/failure";
import { Field } from "../parts/field";
import { login } from "../state/access";

export function Login() {
  const [token, setToken] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await login(token.trim());
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <main class="gate">
      <form class="gate-form stack" onSubmit={send}>
        <h1>Long Running Agents</h1>
        <p class="soft">Sign in with an access token.</p>
        <Field
          label="Access token"
          type="password"
          autoComplete="current-password"
          required
          value={token}
          onInput={setToken}
          hint={
            <>
              To create one, run <code>lra tokens create NAME</code> on the server's machine.
            </>
          }
        />
        {error !== null && <Failure error={error} />}
        <Button kind="main" type="submit" disabled={busy || !token.trim()}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
