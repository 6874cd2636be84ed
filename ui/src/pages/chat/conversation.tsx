/** One session: its log, and the field to write in. */

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Icon } from "../../parts/icon";
import { tellFailure } from "../../parts/toast";
import { isWriting } from "../../shell/keys";
import { active, isEnded, latest, openWork } from "../../state/log";
import { sessionOf, type OpenSession } from "../../state/session";
import type { Turn, View } from "../../state/view";
import { actsOf } from "./acts";
import { AgentMenu } from "./agent_menu";
import { Begin } from "./begin";
import { Composer } from "./composer";
import { PlanQuestion, WorkHint } from "./deep_work";
import { NoticeLine } from "./items";
import { Scroller } from "./scroller";
import { TurnView } from "./turn";

/** Entries that are drawn at first, and each time somebody reads on above. */
const AT_FIRST = 12;
const STEP = 24;

/** A session that is open while the component is. */
export function useSession(id: string): OpenSession {
  const session = useMemo(() => sessionOf(id, tellFailure), [id]);
  useEffect(() => {
    session.enter();
    return () => session.leave();
  }, [session]);
  return session;
}

interface Shape {
  session: OpenSession;
  model: string;
  /** How far the session goes on its own, unless a message says so. */
  mode: string;
  /** The agent that the session is held with, unless its log says so; empty for the home's own. */
  agent: string;
}

export function Conversation({ session, model, mode, agent }: Shape) {
  const view = session.view.value;
  const work = openWork(view);
  // What somebody chose holds until a work begins or ends.
  const [wanted, setWanted] = useState<boolean | null>(null);
  useEffect(() => setWanted(null), [work?.id]);
  const deep = wanted ?? (work !== null || (view.mode ?? mode) === "deep_work");
  const [answering, setAnswering] = useState<string | null>(null);
  // What steers is for the turn that runs, and for its agent.
  const say = (text: string, steer = false) => session.say(text, deep ? "deep_work" : "bounded", steer, steer ? null : answering);
  const running = active(view);
  const busy = running !== null || session.sent.value.length > 0;
  useEscape(() => running && session.stop());
  return (
    <section class="conversation" aria-label="Conversation">
      <Body session={session} view={view} model={model} onSay={say} />
      <div class="composer-place">
        {session.link.value === "waiting" && (
          <p class="composer-link small" role="status">
            <Icon name="spinner" spin />
            Reconnecting. Messages you send are kept until then.
          </p>
        )}
        {work?.pause && !view.plan && !running && <WorkHint work={work} />}
        <Composer
          session={session.id}
          busy={busy}
          queued={queued(view)}
          returned={session.returned}
          deep={deep}
          working={work !== null}
          onDeep={setWanted}
          agent={<AgentMenu current={view.agent ?? agent} wanted={answering} onChoose={setAnswering} />}
          onSend={say}
          onStop={() => session.stop()}
        />
      </div>
      <Announcer turn={latest(view)} />
    </section>
  );
}

function Body({ session, view, model, onSay }: { session: OpenSession; view: View; model: string; onSay: (text: string) => void }) {
  if (session.error.value !== null) {
    return (
      <div class="conversation-state">
        <Failure error={session.error.value} onRetry={() => void session.open()} />
      </div>
    );
  }
  if (!session.ready.value) {
    return (
      <div class="conversation-state">
        <Loading what="Loading" />
      </div>
    );
  }
  if (session.empty.value) {
    return (
      <div class="conversation-state">
        <Begin model={model} onSay={onSay} />
      </div>
    );
  }
  return <Log session={session} view={view} />;
}

function Log({ session, view }: { session: OpenSession; view: View }) {
  const acts = useMemo(() => actsOf(session), [session]);
  // Where drawing begins only ever moves up: what is on the page stays where it is.
  const [begin, setBegin] = useState(() => Math.max(0, view.entries.length - AT_FIRST));
  const earlier = useCallback(() => setBegin((before) => Math.max(0, before - STEP)), []);
  const last = latest(view);
  return (
    <Scroller label="Messages" left={begin} onEarlier={earlier} said={session.sent.value.length}>
      {view.entries.slice(begin).map((entry) =>
        entry.kind === "turn" ? (
          <TurnView key={entry.key} turn={entry} last={entry === last} session={session} acts={acts} />
        ) : (
          <NoticeLine key={entry.key} item={entry} />
        ),
      )}
      {session.sent.value.map((sent) => (
        <div key={sent.key} class="prompt prompt-sent">
          <div class="prompt-text">{sent.content}</div>
          <span class="soft small">Sending</span>
        </div>
      ))}
      {view.plan && !active(view) && session.sent.value.length === 0 && <PlanQuestion plan={view.plan} />}
    </Scroller>
  );
}

function queued(view: View): number {
  const waiting = view.entries.filter((entry) => entry.kind === "turn" && !isEnded(entry)).slice(1);
  return waiting.filter((entry) => entry.kind === "turn" && !entry.steer).length;
}

/** Esc stops, unless it means something else: in a field, or where something lies above the page. */
function useEscape(stop: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (isWriting(event.target) && !(event.target as Element).matches(".composer-text")) return;
      stop();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

const SPOKEN = 300;

/** Tells a screen reader how the last turn goes: not each word, but each change. */
function Announcer({ turn }: { turn: Turn | null }) {
  return (
    <div class="unseen" role="status" aria-live="polite">
      {turn ? announced(turn) : ""}
    </div>
  );
}

function announced(turn: Turn): string {
  switch (turn.state) {
    case "queued":
      return turn.steer ? "The message is given to the agent at its next step." : "The message is queued.";
    case "running":
      return "The agent is working.";
    case "waiting":
      return "A tool call is waiting for your approval.";
    case "done": {
      const answer = turn.items.findLast((item) => item.kind === "words");
      return `The agent answered: ${(answer?.text ?? "").slice(0, SPOKEN)}`;
    }
    case "stopped":
      return "The turn was stopped.";
    case "limited":
      return "The turn reached a limit.";
    case "failed":
      return "The turn failed.";
  }
}
