/** Approvals: what waits for an answer, what was allowed to last, and what was decided. */

import { Empty } from "../../parts/empty";
import { useTitles } from "../../state/session_titles";
import { approvals, link } from "../../state/activity";
import { Grants } from "./grants";
import { Log } from "./log";
import { OpenQuestion } from "./open_question";
import "./approvals.css";

export default function Approvals() {
  const titleOf = useTitles();
  return (
    <div class="page approvals">
      <section aria-label="Pending approvals">
        <header class="section-head">
          <h2>Pending</h2>
        </header>
        {approvals.value.length === 0 && <Quiet />}
        <div class="stack" role="log" aria-label="Pending" aria-live="polite">
          {approvals.value.map((approval) => (
            <OpenQuestion key={approval.id} approval={approval} title={titleOf(approval.session_id)} />
          ))}
        </div>
      </section>
      <Grants titleOf={titleOf} />
      <Log titleOf={titleOf} />
    </div>
  );
}

function Quiet() {
  if (link.value !== "open") return <p class="soft">Connecting…</p>;
  return (
    <Empty icon="approvals" title="No pending approvals.">
      <p>Pending approvals appear here, and in their chat.</p>
    </Empty>
  );
}
