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
      <section aria-label="Open questions">
        <header class="section-head">
          <h2>Waiting for you</h2>
        </header>
        {approvals.value.length === 0 && <Quiet />}
        <div class="stack" role="log" aria-label="Questions" aria-live="polite">
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
  if (link.value !== "open") return <p class="soft">Listening for questions.</p>;
  return (
    <Empty icon="approvals" title="Nothing waits for you.">
      <p>A call that needs your word stands here as soon as the agent asks, and in its session.</p>
    </Empty>
  );
}
