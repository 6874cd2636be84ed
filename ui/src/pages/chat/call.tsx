/** A call of a tool: one line, and everything about it for whoever opens it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { brief, spelled } from "../../parts/brief";
import { Code } from "../../parts/code";
import { Icon, type IconName } from "../../parts/icon";
import { memo } from "../../parts/memo";
import { duration } from "../../parts/moment";
import { Question } from "../../parts/question";
import type { OpenSession } from "../../state/session";
import type { Approval, Call, CallState } from "../../state/view";
import { answered } from "./approval";
import { Delegates } from "./delegates";
import { Output, Pictures } from "./output";

const STATES: Record<CallState, { icon: IconName; words: string; spin?: boolean }> = {
  running: { icon: "spinner", words: "running", spin: true },
  asking: { icon: "approvals", words: "waiting for your approval" },
  client: { icon: "clock", words: "waiting for the client" },
  done: { icon: "check", words: "done" },
  failed: { icon: "warning", words: "failed" },
  denied: { icon: "close", words: "denied" },
  uncertain: { icon: "warning", words: "unknown whether it ran" },
};

export const CallCard = memo(function CallCard({ call, session }: { call: Call; session: OpenSession }) {
  const [opened, setOpened] = useState(false);
  const asking = call.state === "asking";
  const shown = opened || asking;
  const state = STATES[call.state];
  const answer = answered(call.approval);
  return (
    <div class={`call call-${call.state}`}>
      <button type="button" class="call-head" aria-expanded={shown} onClick={() => setOpened(!opened)}>
        <span class="call-state">
          <Icon name={state.icon} spin={state.spin ?? false} />
          <span class="unseen">{state.words}</span>
        </span>
        <span class="call-tool">{call.tool}</span>
        <span class="call-brief clip">{brief(call.input)}</span>
        {answer && <span class="call-note clip">{answer}</span>}
        {call.milliseconds !== null && <span class="call-note">{duration(call.milliseconds)}</span>}
        <Icon name={shown ? "down" : "right"} />
      </button>
      {shown && (
        <div class="call-body">
          <Part title="Input">
            <Code {...spelled(call.input)} />
          </Part>
          {asking && call.approval && <Asking call={call} approval={call.approval} session={session} />}
          {call.result && (
            <Part title={call.state === "done" ? "Output" : "What happened"}>
              <Output call={call} session={session.id} />
            </Part>
          )}
        </div>
      )}
      {call.delegates.length > 0 && <Delegates delegates={call.delegates} />}
      <Pictures call={call} />
    </div>
  );
});

function Asking({ call, approval, session }: { call: Call; approval: Approval; session: OpenSession }) {
  const answer = (allowed: boolean, lasting: string, reason: string) =>
    session.answer(approval.id, allowed, lasting, reason);
  return <Question asked={approval} tool={call.tool} onAnswer={answer} />;
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="call-part">
      <div class="call-title">{title}</div>
      {children}
    </div>
  );
}
