/** The timeline of a turn: steps of the model, calls and waits, drawn to scale. */

import { useEffect, useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Table } from "../../parts/table";
import { Tag } from "../../parts/tag";
import { duration, moment } from "../../parts/moment";
import { href } from "../../router";
import { useHead } from "../../shell/header";
import { overhear } from "../../state/activity";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { Event } from "../../wire/events";
import type { EventList } from "../../wire/responses";
import { sums, timelineOf, type Span, type SpanKind, type Timeline } from "./spans";

const KINDS: readonly { kind: SpanKind; title: string }[] = [
  { kind: "model", title: "Model" },
  { kind: "recall", title: "Recalling memories" },
  { kind: "call", title: "Tools" },
  { kind: "wait", title: "Waiting for approval" },
  { kind: "away", title: "Paused" },
];

const ENDS: Record<string, { word: string; tone: "good" | "warn" | "bad" }> = {
  done: { word: "done", tone: "good" },
  stopped: { word: "stopped", tone: "warn" },
  limit: { word: "ended by a limit", tone: "warn" },
  error: { word: "failed", tone: "bad" },
};

/** A session's log is read in pages until nothing more can belong to the turn. */
async function eventsOf(session: string, turn: string, signal: AbortSignal): Promise<Event[]> {
  const path = `/api/sessions/${encodeURIComponent(session)}/events`;
  const found: Event[] = [];
  for (let after = 0, more = true; more; ) {
    const page = await api.get<EventList>(path, { after, limit: 500 }, signal);
    found.push(...page.events.filter((event) => event.turn_id === turn));
    after = page.last_seq;
    more = page.more && page.events.length > 0;
  }
  return found;
}

export function TurnPage({ session, turn }: { session: string; turn: string }) {
  useHead("Timeline of a turn");
  const { answer, error, again } = useAsked((signal) => eventsOf(session, turn, signal), [session, turn]);
  const [heard, setHeard] = useState<readonly Event[]>([]);
  const [now, setNow] = useState(Date.now());
  useEffect(
    () =>
      overhear((event) => {
        if (event.type === "catch_up") again();
        else if (event.turn_id === turn) setHeard((before) => [...before, event]);
      }),
    [turn],
  );
  const events = answer ? together(answer, heard) : [];
  const timeline = timelineOf(events, now);
  const running = timeline !== null && timeline.ended === "";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  const said = events.find((event) => event.type === "message");
  return (
    <div class="page">
      <a class="back" href={href("activity")}>
        All activity
      </a>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && !timeline && (
        <Empty icon="activity" title="Turn not found.">
          <p>Its session may have been deleted.</p>
        </Empty>
      )}
      {said?.type === "message" && <p class="turn-said">{said.content}</p>}
      {timeline && <View timeline={timeline} session={session} />}
    </div>
  );
}

function together(read: readonly Event[], heard: readonly Event[]): Event[] {
  const all = new Map([...read, ...heard].map((event) => [event.seq, event]));
  return [...all.values()].sort((one, other) => one.seq - other.seq);
}

function View({ timeline, session }: { timeline: Timeline; session: string }) {
  const end = ENDS[timeline.ended];
  const took = sums(timeline);
  return (
    <>
      <div class="row">
        {end ? <Tag tone={end.tone}>{end.word}</Tag> : <Tag tone="accent">runs</Tag>}
        <span class="soft">
          {moment(timeline.began)}, {duration(timeline.length)} in all
        </span>
        <a href={href("chat", session)}>Go to the session</a>
      </div>
      <ul class="sums">
        {KINDS.filter(({ kind }) => took[kind] > 0).map(({ kind, title }) => (
          <li key={kind} class={`sum sum-${kind}`}>
            <span class="soft small">{title}</span>
            <span>{duration(took[kind])}</span>
          </li>
        ))}
      </ul>
      <Bars timeline={timeline} />
      <details class="fold">
        <summary>Show as a table</summary>
        <Table<Span>
          label="Spans of the turn"
          rows={timeline.spans}
          rowKey={(span) => span.key}
          columns={[
            { title: "What", cell: (span) => span.label },
            { title: "Kind", cell: (span) => KINDS.find((each) => each.kind === span.kind)?.title ?? span.kind },
            { title: "Began after", cell: (span) => duration(span.start), number: true },
            { title: "Took", cell: (span) => duration(span.end - span.start), number: true },
            { title: "Outcome", cell: (span) => (span.open ? "goes on" : span.outcome || "done") },
          ]}
        />
      </details>
    </>
  );
}

const WIDE = 1000;
/** What took almost no time can still be seen and pointed at. */
const NARROWEST = 3;
const AT_FIRST = 200;

function Bars({ timeline }: { timeline: Timeline }) {
  const [all, setAll] = useState(false);
  const shown = all ? timeline.spans : timeline.spans.slice(0, AT_FIRST);
  const scale = WIDE / timeline.length;
  const left = timeline.spans.length - shown.length;
  return (
    <>
      <ol class="spans" aria-label="Spans in their order">
        {shown.map((span) => (
          <li key={span.key} class="span">
            <span class="span-name clip" title={span.label}>
              {span.label}
            </span>
            <svg class="span-track" viewBox={`0 0 ${WIDE} 10`} preserveAspectRatio="none" aria-hidden="true">
              <rect
                class={`span-${span.kind}${BAD.has(span.outcome) ? " span-bad" : ""}`}
                x={Math.min(WIDE - NARROWEST, span.start * scale)}
                y={0}
                width={Math.max(NARROWEST, (span.end - span.start) * scale)}
                height={10}
              />
            </svg>
            <span class="span-time soft small">
              {duration(span.end - span.start)}
              {span.outcome && span.outcome !== "done" && <span class="unseen">, {span.outcome}</span>}
            </span>
          </li>
        ))}
      </ol>
      {left > 0 && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show {left} more
        </Button>
      )}
    </>
  );
}

const BAD: ReadonlySet<string> = new Set(["failed", "denied", "uncertain", "error"]);
