/** The budget: a bar for each limit, and the way to raise it. */

import { useState } from "preact/hooks";
import { heldWords, raisedWords, raiseOf, resourceOf, shareOf, usedWords, whose, type Shared } from "../../parts/budget";
import { Button } from "../../parts/button";
import { Card } from "../../parts/card";
import { Dialog } from "../../parts/dialog";
import { Failure } from "../../parts/failure";
import { Field } from "../../parts/field";
import { Meter } from "../../parts/meter";
import { tell } from "../../parts/toast";
import { useAsked, type Asked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { useWork } from "../../state/work";
import { api } from "../../wire/api";
import type { BudgetResponse, LineResponse, TurnList } from "../../wire/responses";

const SPENDING: ReadonlySet<string> = new Set(["tool_call", "resumed", "done", "stopped", "limit", "error"]);

/** The limits of today, and of a session if there is one, asked for again when something was spent. */
export function useBudget(session: string | null): Asked<BudgetResponse> {
  const asked = useAsked((signal) => api.get<BudgetResponse>("/api/budget", { session_id: session }, signal), [session]);
  useFresh(SPENDING, asked.again);
  return asked;
}

/** Whether there is anything to see but that nothing is limited. */
export function hasLimits({ answer, error }: Asked<BudgetResponse>): boolean {
  return error !== null || (answer !== null && answer.budget.length > 0);
}

export function Budget({ asked, session }: { asked: Asked<BudgetResponse>; session: string | null }) {
  const { answer, error, again } = asked;
  const [raising, setRaising] = useState<Shared | null>(null);
  if (error === null && !answer) return null;
  const linesOf = (scope: string) => answer?.budget.filter((line) => line.scope === scope) ?? [];
  const groups = (["day", "session"] as const).filter((scope) => linesOf(scope).length > 0);
  return (
    <Card title="Budget">
      <div class="stack">
        {error !== null && <Failure error={error} onRetry={again} />}
        {error === null && groups.length === 0 && <Unlimited />}
        {groups.map((scope) => (
          <Bars key={scope} scope={scope} lines={linesOf(scope)} onRaise={() => setRaising(scope)} />
        ))}
      </div>
      {raising && (
        <Raise
          scope={raising}
          lines={linesOf(raising)}
          session={raising === "session" ? session : null}
          onDone={again}
          onClose={() => setRaising(null)}
        />
      )}
    </Card>
  );
}

function Unlimited() {
  return (
    <p class="soft">
      Nothing is limited for a day: to change that, set <code>budget.day.tokens</code>, <code>budget.day.cost</code> (in US
      dollars), <code>budget.day.steps</code> or <code>budget.day.seconds</code> in config.toml, or the same below{" "}
      <code>budget.session</code> for each session.
    </p>
  );
}

function Bars({ scope, lines, onRaise }: { scope: Shared; lines: readonly LineResponse[]; onRaise: () => void }) {
  return (
    <section class="budget" aria-label={`Budget ${scope === "day" ? "of today" : "of this session"}`}>
      <header class="row spread">
        <h3>{scope === "day" ? "Today" : "This session"}</h3>
        <Button small aria-label={`Raise ${whose(scope)} limits`} onClick={onRaise}>
          Raise
        </Button>
      </header>
      <ul>
        {lines.map((line) => (
          <li key={line.resource}>
            <Bar line={line} />
          </li>
        ))}
      </ul>
    </section>
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
  scope: Shared;
  lines: readonly LineResponse[];
  /** The session whose limits are raised; null for those of today. */
  session: string | null;
  onDone: () => void;
  onClose: () => void;
}

function Raise({ scope, lines, session, onDone, onClose }: Raising) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const { busy, error, run } = useWork();
  const send = async () => {
    const { turns } = await api.post<TurnList>("/api/budget", { session_id: session, ...raiseOf(typed) });
    tell(raisedWords(turns.length));
    onDone();
    onClose();
  };
  const sent = (event: Event) => {
    event.preventDefault();
    void run(send);
  };
  return (
    <Dialog title={`Raise ${whose(scope)} limits`} onClose={onClose}>
      <form class="stack" onSubmit={sent}>
        <p class="soft">
          How much more may be used? Leave all fields empty to add the amounts from the settings once more.
          {scope === "day" && " It counts for today only."}
        </p>
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
            Raise
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
