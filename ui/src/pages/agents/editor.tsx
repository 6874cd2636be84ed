/** An agent, to be filled in and saved as a draft. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Failure } from "../../parts/failure";
import { Field, TextArea } from "../../parts/field";
import { tell } from "../../parts/toast";
import { useAction } from "../../state/action";
import { href } from "../../router";
import { api, ApiFailure } from "../../wire/api";
import type { AgentResponse } from "../../wire/responses";
import { draftOf, type AgentForm } from "./form";

/** Where the console of an agent is. */
export function consoleOf(name: string): string {
  return `${href("agents", name)}?tab=console`;
}

export function Editor({ begin, onSaved }: { begin: AgentForm; onSaved?: (saved: AgentResponse) => void }) {
  const [form, setForm] = useState(begin);
  const { busy, error, run } = useAction();
  const set = (name: keyof AgentForm) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const save = async () => {
    const read = draftOf(form);
    if ("wrong" in read) throw new ApiFailure("wrong", read.wrong, "", 0);
    const saved = await api.post<AgentResponse>("/api/agents", { agent: read.draft });
    tell(`Saved as ${saved.name}@${saved.version}, a draft.`);
    onSaved?.(saved);
    if (!onSaved || saved.name !== begin.name) location.hash = consoleOf(saved.name);
  };
  return (
    <form
      class="stack"
      aria-label="Agent"
      onSubmit={(event) => {
        event.preventDefault();
        void run(save);
      }}
    >
      <div class="agent-fields">
        <Field label="Name" value={form.name} onInput={set("name")} required maxLength={64} hint="Letters, digits, “-” and “_”." />
        <Field label="Model" value={form.model} onInput={set("model")} hint="Empty for the session's." />
      </div>
      <Field label="Description" value={form.description} onInput={set("description")} hint="What it is for. People read it, and so does the choice of an agent." />
      <TextArea label="Instructions" rows={8} value={form.instructions} onInput={set("instructions")} hint="What its model is told first." />
      <div class="agent-fields">
        <Field label="Tools" value={form.allow} onInput={set("allow")} hint="With commas between; empty for the usual ones, “none” for none." />
        <Field label="Never these tools" value={form.deny} onInput={set("deny")} />
        <Field label="Capabilities" value={form.capabilities} onInput={set("capabilities")} hint="Such as code, web." />
        <Field label="Temperature" type="number" min={0} step="any" value={form.temperature} onInput={set("temperature")} hint="Empty for the usual one." />
        <Field label="Hands work on" type="number" min={0} step={1} value={form.depth} onInput={set("depth")} hint="How many levels deep; 0 for not at all." />
      </div>
      <TextArea label="Examples" rows={4} value={form.examples} onInput={set("examples")} hint="Messages that are for it, one in each line." />
      <details class="fold">
        <summary>Policy, budget, schemas and chain</summary>
        <TextArea label="The rest, as JSON" rows={12} value={form.rest} onInput={set("rest")} />
      </details>
      {error !== null && <Failure error={error} />}
      <div class="row">
        <Button kind="main" type="submit" disabled={busy || !form.name.trim()}>
          Save as draft
        </Button>
      </div>
    </form>
  );
}
