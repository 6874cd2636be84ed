/** A job, to be filled in; what its schedule means is said while it is written. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Failure } from "../../parts/failure";
import { Field, Select, TextArea } from "../../parts/field";
import { useAction } from "../../state/action";
import { inUse, useAgents } from "../../state/agents";
import type { Job, NoticeKind } from "../../wire/responses";
import { draftOf, type JobForm } from "./draft";
import { Preview } from "./preview";
import { MISSED, NOTICES, optionsOf, OVERLAPS, SESSIONS } from "./words";

interface Shape {
  begin: JobForm;
  /** The job that is edited. */
  before: Job | null;
  /** What the button that saves it says. */
  action: string;
  onSave: (fields: Record<string, unknown>) => Promise<void>;
  onClose?: () => void;
}

/** What a part of the form is given. */
interface Part {
  form: JobForm;
  set: (more: Partial<JobForm>) => void;
}

export function JobEditor({ begin, before, action, onSave, onClose }: Shape) {
  const [form, setForm] = useState(begin);
  const { busy, error, run } = useAction();
  const set = (more: Partial<JobForm>) => setForm((known) => ({ ...known, ...more }));
  return (
    <form
      class="stack"
      aria-label="Job"
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => onSave(draftOf(form, before)));
      }}
    >
      <Field label="Name" value={form.name} onInput={(name) => set({ name })} required maxLength={100} placeholder="Morning news" />
      <When form={form} set={set} />
      <TextArea label="Prompt" rows={4} value={form.prompt} onInput={(prompt) => set({ prompt })} required placeholder="Read the news and sum them up." />
      <How form={form} set={set} />
      <details class="fold">
        <summary>Missed moments, overlap, watching and notices</summary>
        <Policies form={form} set={set} />
      </details>
      {error !== null && <Failure error={error} />}
      <div class="row">
        <Button kind="main" type="submit" disabled={busy}>
          {action}
        </Button>
        {onClose && <Button onClick={onClose}>Cancel</Button>}
      </div>
    </form>
  );
}

function When({ form, set }: Part) {
  return (
    <div class="stack job-when">
      <div class="job-fields">
        <Field
          label="Schedule"
          value={form.schedule}
          onInput={(schedule) => set({ schedule })}
          required
          maxLength={200}
          placeholder="daily 09:00"
          hint="Such as daily 09:00, hourly :15, every 2h, 0 9 * * mon-fri, at 2030-12-01T09:00, watch 10m, startup, webhook or manual."
        />
        <Field label="Time zone" value={form.zone} onInput={(zone) => set({ zone })} maxLength={100} hint="Such as Europe/Berlin; empty for the usual one." />
      </div>
      <Preview schedule={form.schedule} zone={form.zone} />
    </div>
  );
}

function How({ form, set }: Part) {
  const { answer } = useAgents();
  const known = inUse(answer);
  // An agent that is not in use any more stays chosen, so that editing changes nothing unseen.
  const names = form.agent && !known.includes(form.agent) ? [form.agent, ...known] : known;
  return (
    <>
      <div class="job-fields">
        <Select
          label="Agent"
          value={form.agent}
          onChange={(agent) => set({ agent })}
          options={[{ value: "", label: "The default agent" }, ...names.map((name) => ({ value: name, label: name }))]}
        />
        <Select label="Session" value={form.session_mode} onChange={(value) => set({ session_mode: value as JobForm["session_mode"] })} options={optionsOf(SESSIONS)} />
        {form.session_mode === "named" && (
          <Field label="Id of the session" value={form.session_id} onInput={(session_id) => set({ session_id })} required hint="As in the address of its chat." />
        )}
        <Field label="Tokens of a run" type="number" min={1} step={1} value={form.tokens} onInput={(tokens) => set({ tokens })} hint="Empty for the usual budget." />
      </div>
      <label class="check-line">
        <input type="checkbox" checked={form.deep_work} onChange={(event) => set({ deep_work: event.currentTarget.checked })} />
        <span>
          Deep work <span class="soft small">Each run plans and proves its tasks.</span>
        </span>
      </label>
    </>
  );
}

function Policies({ form, set }: Part) {
  const toggle = (kind: NoticeKind, on: boolean) => set({ notify: on ? [...form.notify, kind] : form.notify.filter((each) => each !== kind) });
  return (
    <div class="stack job-policies">
      <div class="job-fields">
        <Select
          label="Moments missed while nothing ran"
          value={form.missed}
          onChange={(value) => set({ missed: value as JobForm["missed"] })}
          options={optionsOf(MISSED)}
        />
        <Select
          label="A moment while a run goes on"
          value={form.overlap}
          onChange={(value) => set({ overlap: value as JobForm["overlap"] })}
          options={optionsOf(OVERLAPS)}
        />
        <Field
          label="Watch"
          value={form.watch}
          onInput={(watch) => set({ watch })}
          hint="A command for the sandbox, or an address. It is looked at without a model; the job runs only when it has changed."
        />
        <Field
          label="Hours without a run"
          type="number"
          min={0}
          step="any"
          value={form.expect_every}
          onInput={(expect_every) => set({ expect_every })}
          hint="After which somebody is told; empty for never."
        />
      </div>
      <fieldset class="checks">
        <legend class="field-label">Tell of</legend>
        {optionsOf(NOTICES).map(({ value, label }) => (
          <label key={value} class="check-line">
            <input type="checkbox" checked={form.notify.includes(value)} onChange={(event) => toggle(value, event.currentTarget.checked)} />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
    </div>
  );
}
