/** The budget: a bar for each limit, and the way to raise it. */

import { useState } from "preact/hooks";
import { raisedWords, whose, type Shared } from "../../parts/budget";
import { BudgetBars, RaiseDialog } from "../../parts/budget_bars";
import { Button } from "../../parts/button";
import { Card } from "../../parts/card";
import { Failure } from "../../parts/failure";
import { tell } from "../../parts/toast";
import { useAsked, type Asked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
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
        <RaiseDialog
          title={`Raise ${whose(raising)} limits`}
          hint={`Leave all fields empty to add the amounts from the settings once more.${raising === "day" ? " It counts for today only." : ""}`}
          action="Raise"
          lines={linesOf(raising)}
          onRaise={(more) => raise(raising === "session" ? session : null, more).then(again)}
          onClose={() => setRaising(null)}
        />
      )}
    </Card>
  );
}

/** Raise the limits of a session, or those of today for null. */
async function raise(session: string | null, more: Record<string, number>): Promise<void> {
  const { turns } = await api.post<TurnList>("/api/budget", { session_id: session, ...more });
  tell(raisedWords(turns.length));
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
      <BudgetBars lines={lines} />
    </section>
  );
}
