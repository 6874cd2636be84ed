/** A call of a skill, filled in by hand; the form is made of the schema. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { bytes } from "../../parts/amount";
import { Failure } from "../../parts/failure";
import { Field, Select, TextArea } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { duration } from "../../parts/moment";
import { api } from "../../wire/api";
import type { Attempt } from "../../wire/responses";
import { argumentsOf, controlOf, filledIn, type Argument } from "./schema";
import type { Schema } from "./shapes";
import { Outcome } from "./trial";

interface Shape {
  schema: Schema;
  path: string;
  number: number;
}

export function TrialForm({ schema, path, number }: Shape) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [attempt, setAttempt] = useState<Attempt | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    const read = filledIn(schema, texts);
    setWrong(read.wrong);
    if (Object.keys(read.wrong).length > 0) return;
    setBusy(true);
    setError(null);
    try {
      setAttempt(await api.post<Attempt>(`${path}/run`, { args: read.args, version: number }));
    } catch (failure) {
      setAttempt(null);
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <form class="stack" onSubmit={(event) => void send(event)}>
      <p class="soft">It runs in a sandbox with an empty workspace. Nothing of yours is touched.</p>
      {argumentsOf(schema).map((argument) => (
        <Filled
          key={argument.name}
          argument={argument}
          schema={schema}
          value={texts[argument.name] ?? ""}
          wrong={wrong[argument.name] ?? ""}
          onInput={(text) => setTexts({ ...texts, [argument.name]: text })}
        />
      ))}
      <div class="row">
        <Button type="submit" icon="right" disabled={busy}>
          {busy ? "Running" : "Run"}
        </Button>
      </div>
      <div aria-live="polite">
        {error !== null && <Failure error={error} />}
        {attempt && (
          <div class="outcome">
            <Icon name={attempt.error ? "warning" : "check"} />
            <div class="grow">
              <Outcome attempt={attempt} />
              <div class="soft small">
                {duration(attempt.duration_ms)}
                {attempt.memory > 0 && `, ${bytes(attempt.memory)}`}
              </div>
            </div>
          </div>
        )}
      </div>
    </form>
  );
}

interface One {
  argument: Argument;
  schema: Schema;
  value: string;
  wrong: string;
  onInput: (text: string) => void;
}

function Filled({ argument, schema, value, wrong, onInput }: One) {
  const { control, choices } = controlOf(schema.properties?.[argument.name] ?? {}, schema);
  const label = argument.required ? argument.name : `${argument.name} (may be left out)`;
  const words = [argument.kind, argument.description].filter(Boolean).join(". ");
  const hint = wrong ? (
    <>
      <span class="bad">{wrong}</span> {words}
    </>
  ) : (
    words
  );
  if (control === "flag" || control === "choice") {
    const values = control === "flag" ? ["true", "false"] : choices;
    const options = [{ value: "", label: argument.usual ? `As usual: ${argument.usual}` : "Not said" }, ...values.map((each) => ({ value: each, label: each }))];
    return <Select label={label} hint={hint} value={value} options={options} onChange={onInput} />;
  }
  if (control === "json") return <TextArea label={`${label}, as JSON`} hint={hint} rows={2} value={value} onInput={onInput} placeholder={argument.usual} />;
  return <Field label={label} hint={hint} value={value} onInput={onInput} placeholder={argument.usual} />;
}
