/** Limits: a bar for each, and the form that raises them. */

import { useState } from "preact/hooks";
import type { LineResponse } from "../wire/responses";
import { useAction } from "../state/action";
import { heldWords, raiseOf, resourceOf, shareOf, usedWords } from "./budget";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Failure } from "./failure";
import { Field } from "./field";
import { Meter } from "./meter";

export function BudgetBars({ lines }: { lines: readonly LineResponse[] }) {
  return (
    <ul class="budget-bars">
      {lines.map((line) => (
        <li key={line.resource}>
          <Bar line={line} />
        </li>
      ))}
    </ul>
  );
}

function Bar({ line }: { line: LineResponse }) {
  const { title } = resourceOf(line.resource);
  const count = (amount: number) => amount.toLocaleString("en");
  const held = heldWords(line);
  return (
    <>
      <span>{title}</span>
      <Meter label={usedWords(line)} title={`${title}: ${count(line.spent)} of ${count(line.limit)} used`} value={shareOf(line)} most={1} />
      {held && <span class="budget-held soft small">{held}</span>}
    </>
  );
}

interface Raising {
  title: string;
  /** What is added when nothing is typed. */
  hint: string;
  /** What the button that does it says. */
  action: string;
  lines: readonly LineResponse[];
  /** Raise the limits by so much each. */
  onRaise: (more: Record<string, number>) => Promise<unknown>;
  onClose: () => void;
}

export function RaiseDialog({ title, hint, action, lines, onRaise, onClose }: Raising) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const { busy, error, run } = useAction();
  const sent = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await onRaise(raiseOf(typed));
      onClose();
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={sent}>
        <p class="soft">How much more may be used? {hint}</p>
        {lines.map((line) => {
          const { unit, least, whole } = resourceOf(line.resource);
          return (
            <Field
              key={line.resource}
              label={`More ${unit}`}
              type="number"
              min={least}
              step={whole ? 1 : "any"}
              value={typed[line.resource] ?? ""}
              onInput={(text) => setTyped({ ...typed, [line.resource]: text })}
              hint={`${usedWords(line)}.`}
            />
          );
        })}
        {error !== null && <Failure error={error} />}
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" disabled={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
