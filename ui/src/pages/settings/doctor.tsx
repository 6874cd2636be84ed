/** The doctor: is everything in order? */

import { Button } from "../../parts/button";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Icon, type IconName } from "../../parts/icon";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { Examination } from "../../wire/responses";

const LOOKS: Record<string, { icon: IconName; word: string; look: string }> = {
  ok: { icon: "check", word: "OK", look: "check-good" },
  warning: { icon: "info", word: "Warning", look: "check-warn" },
  problem: { icon: "warning", word: "Problem", look: "check-bad" },
};
const OTHER = { icon: "circle", word: "Skipped", look: "" } as const;

export function Doctor() {
  const { answer, error, busy, again } = useAsked(
    (signal) => api.get<Examination>("/api/doctor", {}, signal),
    [],
  );
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading what="Checking" />;
  const warnings = answer.checks.filter((check) => check.state === "warning").length;
  return (
    <>
      <div class="row spread">
        <p class="grow" role="status">
          {!answer.sound ? "Problems found." : warnings > 0 ? "Working, with warnings." : "Everything is OK."}
        </p>
        <Button icon="retry" disabled={busy} onClick={again}>
          {busy ? "Checking" : "Check again"}
        </Button>
      </div>
      <ul class="settings-rows">
        {answer.checks.map((check) => {
          const { icon, word, look } = LOOKS[check.state] ?? OTHER;
          return (
            <li key={check.name} class="rows-line doctor-check">
              <span class={look}>
                <Icon name={icon} />
                <span class="unseen">{word}: </span>
              </span>
              <div class="rows-main">
                <div class="rows-name">{check.name}</div>
                <div class="soft small kept">{check.detail}</div>
                {check.fix && <div class="small kept">{check.fix}</div>}
              </div>
            </li>
          );
        })}
      </ul>
    </>
  );
}
