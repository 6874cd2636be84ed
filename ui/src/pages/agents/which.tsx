/** Which agent a message would be given to, and why. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Failure } from "../../parts/failure";
import { Field, TextArea } from "../../parts/field";
import { RoutingReason } from "../../parts/routing";
import { nameOf, shownAgent } from "../../parts/agent_words";
import { href } from "../../router";
import { useAction } from "../../state/action";
import { api } from "../../wire/api";
import type { RoutingResponse } from "../../wire/responses";

export function Which() {
  const [text, setText] = useState("");
  const [needs, setNeeds] = useState("");
  const [found, setFound] = useState<{ routing: RoutingResponse; text: string } | null>(null);
  const { busy, error, run } = useAction();
  const ask = (asked: string) => {
    const wanted = needs.split(",").map((each) => each.trim()).filter(Boolean);
    return api.post<RoutingResponse>("/api/agents/route", { text: asked, needs: wanted }).then((routing) => setFound({ routing, text: asked }));
  };
  return (
    <div class="stack">
      <form
        class="stack"
        aria-label="Which agent?"
        onSubmit={(event) => {
          event.preventDefault();
          void run(() => ask(text.trim()));
        }}
      >
        <TextArea label="A message" rows={2} value={text} onInput={setText} hint="Whom would it be given to, if the choice is left to us?" />
        <Field label="Needs these capabilities" value={needs} onInput={setNeeds} hint="With commas between; empty for any." />
        <div class="row">
          <Button type="submit" disabled={busy || !text.trim()}>
            Find out
          </Button>
        </div>
      </form>
      <div class="stack" aria-live="polite">
        {error !== null && <Failure error={error} />}
        {found && (
          <div>
            <p>
              It is for <strong>{found.routing.to ? <a href={href("agents", nameOf(found.routing.to))}>{found.routing.to}</a> : shownAgent("")}</strong>.
            </p>
            <RoutingReason key={found.text} routing={found.routing} text={found.text} onTaught={() => void run(() => ask(found.text))} />
          </div>
        )}
      </div>
    </div>
  );
}
