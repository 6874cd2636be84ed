/** Activity: what happens in all sessions, live, and what happened. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Select } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { tellFailure } from "../../parts/toast";
import { href, place } from "../../router";
import { link, overhear } from "../../state/activity";
import { useAsked } from "../../state/asked";
import { address, api } from "../../wire/api";
import type { Event } from "../../wire/events";
import type { ActivityResponse, SessionList } from "../../wire/responses";
import { FILTERS, keyOf, merged, wanted } from "./feed";
import { TurnPage } from "./timeline";
import { toldOf } from "./words";
import "./activity.css";

const PAGE = 50;
const MOST = 1000;

export default function ActivityPage() {
  const [session, turn] = place.value.rest;
  return session && turn ? <TurnPage key={turn} session={session} turn={turn} /> : <Feed />;
}

/** The query has a name more than once, which a record cannot say. */
function pageOf(types: readonly string[], before: string | null, signal?: AbortSignal): Promise<ActivityResponse> {
  const chosen = types.map((type) => `&type=${type}`).join("");
  return api.get<ActivityResponse>(address("/api/activity", { limit: PAGE, before }) + chosen, {}, signal);
}

function Feed() {
  const [filter, setFilter] = useState("all");
  const types = FILTERS.find((each) => each.id === filter)?.types ?? [];
  return (
    <div class="page">
      <div class="row spread">
        <p class="soft lead">{link.value === "open" ? "Live activity of your sessions." : "Not connected. This may be out of date."}</p>
        <div class="activity-filter">
          <Select label="Show" value={filter} onChange={setFilter} options={FILTERS.map(({ id, title }) => ({ value: id, label: title }))} />
        </div>
      </div>
      <Events key={filter} types={types} />
    </div>
  );
}

function Events({ types }: { types: readonly string[] }) {
  const [known, setKnown] = useState<readonly Event[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const first = useAsked((signal) => pageOf(types, null, signal), []);
  const titles = useTitles();
  useEffect(() => {
    if (!first.answer) return;
    const { activity, next: begin } = first.answer;
    setKnown((before) => merged(before, activity));
    // What was read before goes on from where it was.
    setNext((before) => before ?? begin);
  }, [first.answer]);
  useEffect(
    () =>
      overhear((heard) => {
        if (heard.type === "catch_up") first.again();
        else if (wanted(heard, types)) setKnown((before) => merged([heard], before).slice(0, MOST));
      }),
    [],
  );
  const older = async () => {
    setBusy(true);
    try {
      const page = await pageOf(types, next);
      setKnown((before) => merged(before, page.activity));
      setNext(page.next);
    } catch (error) {
      tellFailure(error);
    }
    setBusy(false);
  };
  if (first.error !== null && known.length === 0) return <Failure error={first.error} onRetry={first.again} />;
  if (!first.answer) return <Loading />;
  if (known.length === 0) {
    return (
      <Empty icon="activity" title="No activity yet.">
        <p>Activity of all sessions appears here.</p>
        <a href={href("chat")}>Go to chat</a>
      </Empty>
    );
  }
  return (
    <>
      <ol class="feed" aria-label="What happened, the newest first">
        {known.map((event) => (
          <Line key={keyOf(event)} event={event} title={titles.get(event.session_id) ?? event.session_id} />
        ))}
      </ol>
      {next !== null && known.length < MOST && (
        <Button disabled={busy} onClick={() => void older()}>
          {busy ? "Reading" : "Show older"}
        </Button>
      )}
    </>
  );
}

function useTitles(): ReadonlyMap<string, string> {
  const { answer, again } = useAsked((signal) => api.get<SessionList>("/api/sessions", { limit: 200 }, signal), []);
  useEffect(() => overhear((heard) => (heard.type === "message" || heard.type === "renamed") && again()), []);
  return useMemo(() => new Map(answer?.sessions.map((each) => [each.id, each.title])), [answer]);
}

function Line({ event, title }: { event: Event; title: string }) {
  const { icon, what, more, tone } = toldOf(event);
  return (
    <li class="feed-line">
      <span class={tone ? `feed-icon feed-${tone}` : "feed-icon"}>
        <Icon name={icon} />
      </span>
      <div class="grow">
        <div class="feed-what">
          <span class="feed-words">{what}</span>
          {tone === "bad" && <Tag tone="bad">error</Tag>}
        </div>
        {more && <div class="soft small feed-more">{more}</div>}
        <div class="small feed-where">
          <a class="clip" href={href("chat", event.session_id)}>
            {title}
          </a>
          {event.turn_id && (
            <a href={href("activity", event.session_id, event.turn_id)} aria-label={`Timeline of this turn of ${title}`}>
              Timeline
            </a>
          )}
        </div>
      </div>
      <span class="soft small feed-time">
        <Time at={event.at} />
      </span>
    </li>
  );
}
