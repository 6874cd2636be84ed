/** A turn: what was asked, what was done, what was answered, and how it ended. */

import { useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { tokens } from "../../parts/amount";
import { sharedBy, whose, type Shared } from "../../parts/budget";
import { copyText } from "../../parts/code_block";
import { Failure } from "../../parts/failure";
import { Icon } from "../../parts/icon";
import { Markdown } from "../../parts/markdown";
import { memo } from "../../parts/memo";
import { duration } from "../../parts/moment";
import { Time } from "../../parts/time";
import { tell } from "../../parts/toast";
import { instruction } from "../../parts/work_words";
import { href } from "../../router";
import { atWork } from "../../state/delegates";
import { isEnded } from "../../state/log";
import { nextWords } from "../../state/turn";
import type { OpenSession } from "../../state/session";
import type { Item, Turn } from "../../state/view";
import { useAction } from "../../state/action";
import { ApiFailure } from "../../wire/api";
import type { Acts } from "./acts";
import { CallCard } from "./call";
import { CheckedLine, OwnPrompt } from "./deep_work";
import { AgentLine, BelowCard, LinksView } from "./delegates";
import { NoticeLine, Recalled, TaskLine } from "./items";
import { Prompt, SaidBetween } from "./prompt";

/** Parts of a long turn that are drawn at first. */
const AT_FIRST = 60;

interface Shown {
  turn: Turn;
  /** Whether it is the last one, which alone can go on. */
  last: boolean;
  session: OpenSession;
  acts: Acts;
}

export const TurnView = memo(function TurnView({ turn, last, session, acts }: Shown) {
  return (
    <article class="turn" aria-label={`Turn: ${instruction(turn.prompt).slice(0, 80)}`} data-turn={turn.id}>
      {turn.origin === "work" || turn.origin === "delegate" ? <OwnPrompt turn={turn} /> : <Prompt turn={turn} acts={acts} />}
      <Items turn={turn} session={session} />
      <End turn={turn} last={last} session={session} acts={acts} />
      <Foot turn={turn} acts={acts} />
    </article>
  );
});

function Items({ turn, session }: { turn: Turn; session: OpenSession }) {
  // Only ever less is left out: what is on the page stays where it is.
  const [left, setLeft] = useState(() => Math.max(0, turn.items.length - AT_FIRST));
  return (
    <div class="items">
      {left > 0 && (
        <Button small kind="quiet" onClick={() => setLeft(0)}>
          Show {left} earlier parts of this turn
        </Button>
      )}
      {withTail(turn).slice(left).map((item, index, all) => (
        <ItemView key={item.key} item={item} turn={turn.id} session={session} live={!isEnded(turn) && index === all.length - 1} />
      ))}
    </div>
  );
}

/** The parts of a turn, the words that still grow among them: under the name that they will keep. */
function withTail(turn: Turn): readonly Item[] {
  if (!turn.tail && !turn.gap) return turn.items;
  const text = turn.gap ? `… ${turn.tail}` : turn.tail;
  return [...turn.items, { kind: "words", key: nextWords(turn), text }];
}

const ItemView = memo(function ItemView({ item, turn, session, live }: { item: Item; turn: string; session: OpenSession; live: boolean }) {
  switch (item.kind) {
    case "words":
      return <Markdown text={item.text} live={live} />;
    case "call":
      return <CallCard call={item} session={session} />;
    case "below":
      return <BelowCard item={item} session={session} />;
    case "links":
      return <LinksView item={item} turn={turn} />;
    case "agent":
      return <AgentLine item={item} />;
    case "recalled":
      return <Recalled item={item} />;
    case "tasks":
      return <TaskLine item={item} />;
    case "notice":
      return <NoticeLine item={item} />;
    case "checked":
      return <CheckedLine item={item} />;
    case "said":
      return <SaidBetween item={item} />;
  }
});

/** A limit that is a work's own, or a work that does not get on. */
const OF_WORK = /^(work_|stuck$|refuted$)/;

function End({ turn, last, session, acts }: Shown) {
  const { ending } = turn;
  if (!ending) return null;
  if (ending.kind === "done") return ending.notSeen.length > 0 ? <NotSeen claims={ending.notSeen} /> : null;
  if (ending.kind === "failed") {
    const failure = new ApiFailure(ending.code, ending.message, ending.hint, 0);
    return last ? <Failure error={failure} onRetry={() => session.retry()} /> : <Failure error={failure} />;
  }
  const limit = ending.kind === "limited" ? ending.limit : "";
  const shared = sharedBy(limit);
  // The work pauses with it, and says there how it goes on.
  if (OF_WORK.test(limit)) return <p class="aside kept">{ending.kind === "limited" && ending.text}</p>;
  return (
    <div class="ending">
      {ending.kind === "stopped" ? <p>Stopped.</p> : <p class="ending-text">{ending.text}</p>}
      <div class="row">
        {last && (
          <Button small icon="retry" onClick={() => session.retry()}>
            Continue
          </Button>
        )}
        {last && shared && <Raise scope={shared} acts={acts} />}
        {shared && <a href={href("usage", session.id)}>Show budget</a>}
        {limit && !shared && <a href={href("settings", "config")}>Change limits</a>}
      </div>
    </div>
  );
}

/** What the answer above claims, and no call shows. */
function NotSeen({ claims }: { claims: readonly string[] }) {
  return (
    <p class="aside aside-line aside-warning not-seen" title="No tool call of this session knows these.">
      <Icon name="warning" />
      <span>Not seen: {claims.join(", ")}</span>
    </p>
  );
}

/** Another attempt alone would end at the same limit. */
function Raise({ scope, acts }: { scope: Shared; acts: Acts }) {
  const { busy, run } = useAction();
  return (
    <Button
      small
      kind="main"
      title={`Raises ${whose(scope)} limits by the amounts in the settings`}
      disabled={busy}
      onClick={() => void run(() => acts.raise(scope))}
    >
      Raise and continue
    </Button>
  );
}

function Foot({ turn, acts }: { turn: Turn; acts: Acts }) {
  if (!isEnded(turn)) return <Working turn={turn} acts={acts} />;
  const answer = turn.items.findLast((item) => item.kind === "words")?.text ?? "";
  const took = turn.endedAt ? Date.parse(turn.endedAt) - Date.parse(turn.at) : 0;
  return (
    <footer class="foot">
      {answer && (
        <IconButton icon="copy" label="Copy the answer" small onClick={() => void copy(answer)} />
      )}
      {answer && turn.origin !== "work" && turn.origin !== "delegate" && (
        <IconButton icon="retry" label="Regenerate this answer in a new session" small onClick={() => acts.askAgain(turn, turn.prompt)} />
      )}
      <IconButton icon="fork" label="Fork: continue from here in a new session" small onClick={() => acts.fork(turn)} />
      <span class="foot-facts">
        <Time at={turn.at} />
        <span>{duration(took)}</span>
        {turn.used && (
          <span title={`${turn.used.input} in, ${turn.used.output} out`}>
            {tokens(turn.used.input + turn.used.output)} tokens
          </span>
        )}
        {turn.ending?.kind === "done" && <span class="clip">{turn.ending.model}</span>}
      </span>
    </footer>
  );
}

async function copy(text: string): Promise<void> {
  tell((await copyText(text)) ? "Copied." : "Your browser does not allow copying here.");
}

function Working({ turn, acts }: { turn: Turn; acts: Acts }) {
  return (
    <footer class="foot">
      <span class="foot-facts" role="status">
        {turn.state === "queued" ? <Icon name="clock" /> : <Icon name={turn.state === "waiting" ? "approvals" : "spinner"} spin={turn.state === "running"} />}
        <span>{doing(turn)}</span>
      </span>
      {turn.state === "queued" && (
        <Button small kind="quiet" onClick={() => acts.withdraw(turn)}>
          Cancel
        </Button>
      )}
    </footer>
  );
}

function doing(turn: Turn): string {
  if (turn.state === "queued") return turn.steer ? "Given at the next step" : "Queued";
  if (turn.state === "waiting") return "Waiting for approval";
  if (turn.retrying) return `Retrying: ${turn.retrying}`;
  const below = atWork(turn);
  if (below.length > 0) return `Waiting for ${below.join(", ")}`;
  const running = turn.items.findLast((item) => item.kind === "call" && item.state === "running");
  const step = turn.step ? ` – step ${turn.step.iteration}${turn.step.most ? ` of at most ${turn.step.most}` : ""}` : "";
  if (running?.kind === "call") return `Running ${running.tool}${step}`;
  return `${turn.tail ? "Writing" : "Thinking"}${step}`;
}
