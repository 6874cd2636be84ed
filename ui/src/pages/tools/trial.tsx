/** How a skill fared in the sandbox. */

import { bytes } from "../../parts/amount";
import { duration } from "../../parts/moment";
import { Table } from "../../parts/table";
import type { Attempt, SkillTrial as Trial } from "../../wire/responses";

export function TrialView({ trial }: { trial: Trial }) {
  return (
    <div class="stack">
      {trial.reason && <p class="kept">{trial.reason}</p>}
      {trial.attempts.length === 0 ? (
        <p class="soft">Nothing was called.</p>
      ) : (
        <Table<Attempt>
          label="Calls that were tried"
          rows={trial.attempts}
          rowKey={(_, index) => String(index)}
          columns={[
            { title: "Called with", cell: (each) => <code class="kept">{JSON.stringify(each.args)}</code> },
            { title: "Came back", cell: (each) => <Outcome attempt={each} /> },
            { title: "Took", cell: (each) => duration(each.duration_ms), number: true },
            { title: "Memory", cell: (each) => (each.memory > 0 ? bytes(each.memory) : "not known"), number: true },
            { title: "Made by", cell: (each) => (each.derived ? "the signature" : "its maker") },
          ]}
        />
      )}
    </div>
  );
}

export function Outcome({ attempt }: { attempt: Attempt }) {
  if (attempt.error) return <span class="bad kept">{attempt.error}</span>;
  return <code class="kept">{attempt.shown}</code>;
}
