/** Agents that work for a turn, what they ask, and who answers. */

import { useState } from "preact/hooks";
import { nameOf, shownAgent } from "../../parts/agent_words";
import { money, tokens } from "../../parts/amount";
import { brief, spelled } from "../../parts/brief";
import { Button } from "../../parts/button";
import { spent } from "../../parts/chain";
import { Code } from "../../parts/code";
import { Icon, type IconName } from "../../parts/icon";
import { memo } from "../../parts/memo";
import { Question } from "../../parts/question";
import { RoutingReason } from "../../parts/routing";
import { Tag } from "../../parts/tag";
import { TurnChain } from "../../parts/turn_chain";
import { href } from "../../router";
import type { OpenSession } from "../../state/session";
import type { AgentChange, AskedBelow, Delegate, Links } from "../../state/view";
import { answered } from "./approval";

const ICONS: Readonly<Record<string, IconName>> = { done: "check", stopped: "stop", running: "spinner" };

export const Delegates = memo(function Delegates({ delegates }: { delegates: readonly Delegate[] }) {
  return (
    <ul class="delegates" aria-label="Delegates">
      {delegates.map((each) => (
        <DelegateCard key={each.id} delegate={each} />
      ))}
    </ul>
  );
});

function DelegateCard({ delegate }: { delegate: Delegate }) {
  const { agent, task, session, background, status, seconds, noWork } = delegate;
  const state = status ?? "running";
  const facts = [delegate.tokens === null ? "" : `${tokens(delegate.tokens)} tokens`, delegate.cost ? money(delegate.cost) : "", seconds === null ? "" : spent(seconds)];
  return (
    <li class={`delegate delegate-${state}`}>
      <span class="call-state">
        <Icon name={ICONS[state] ?? "warning"} spin={status === null} />
      </span>
      <div class="grow">
        <div class="row">
          <strong>{agent}</strong> <span class="soft">{status === null ? "at work" : status}</span>{" "}
          {background && <Tag>in the background</Tag>}{" "}
          {noWork && (
            <span title="Its task names files or sources, and it looked at none.">
              <Tag tone="warn">no work seen</Tag>
            </span>
          )}{" "}
          <span class="soft">{facts.filter(Boolean).join(" · ")}</span>
        </div>
        <p class="delegate-task soft">{task}</p>
      </div>
      <a href={href("chat", session)} aria-label={`Open the session of ${agent}`}>
        Open
      </a>
    </li>
  );
}

/** The links of a chain as they work, and the whole of it for whoever asks. */
export const LinksView = memo(function LinksView({ item, turn }: { item: Links; turn: string }) {
  const [shown, setShown] = useState(false);
  return (
    <div class="links">
      <Delegates delegates={item.delegates} />
      <Button small kind="quiet" aria-expanded={shown} onClick={() => setShown(!shown)}>
        {shown ? "Hide the chain" : "Show the chain"}
      </Button>
      {shown && <TurnChain turn={turn} />}
    </div>
  );
});

/** A question that an agent further down asks. */
export const BelowCard = memo(function BelowCard({ item, session }: { item: AskedBelow; session: OpenSession }) {
  const { approval, path, tool, input } = item;
  const [opened, setOpened] = useState(false);
  const asking = approval.answer === null;
  const shown = opened || asking;
  const state = asking ? "asking" : approval.answer?.allowed ? "done" : "denied";
  return (
    <div class={`call call-${state}`}>
      <button type="button" class="call-head" aria-expanded={shown} onClick={() => setOpened(!opened)}>
        <span class="call-state">
          <Icon name="approvals" />
        </span>
        <span class="call-path clip">{path}</span>
        <span class="call-tool">{tool}</span>
        <span class="call-brief clip">{brief(input)}</span>
        {!asking && <span class="call-note clip">{answered(approval)}</span>}
        <Icon name={shown ? "down" : "right"} />
      </button>
      {shown && (
        <div class="call-body">
          <Code {...spelled(input)} />
          {asking && (
            <Question asked={approval} tool={tool} onAnswer={(allowed, lasting, reason) => session.answer(approval.id, allowed, lasting, reason)} />
          )}
        </div>
      )}
    </div>
  );
});

/** Who answers from here on, and why. */
export const AgentLine = memo(function AgentLine({ item: { agent, routed, prompt } }: { item: AgentChange }) {
  const [opened, setOpened] = useState(false);
  const who = agent ? <a href={href("agents", nameOf(agent))}>{agent}</a> : shownAgent(agent);
  if (!routed) {
    return (
      <p class="aside aside-line">
        <Icon name="agent" />
        <span>From here on: {who}</span>
      </p>
    );
  }
  return (
    <details class="aside" onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        <Icon name="agent" />
        <span>{routed.unsure ? `No agent is clearly right: ${shownAgent(agent)} answers` : `Routed to ${shownAgent(agent)}`}</span>
        <span class="soft">Why?</span>
      </summary>
      {opened && <RoutingReason routing={routed} text={prompt} />}
    </details>
  );
});
