/** What I learned: what is new, merged, suggested, at rest and refused, and why. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Choices } from "../../parts/choices";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { href, place } from "../../router";
import { useAction } from "../../state/action";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { useTitles } from "../../state/session_titles";
import { api } from "../../wire/api";
import type { LearnedList, LearnedResponse, LearnedState, ReflectionResponse } from "../../wire/responses";
import { Row } from "./row";
import { readWords, STATES, tidiedWords } from "./words";
import "./learned.css";

const MOST = 200;
const TELLING: ReadonlySet<string> = new Set(["done", "catch_up"]);
const ALL = Object.keys(STATES) as LearnedState[];

export default function LearnedPage() {
  const { answer, error, again } = useAsked((signal) => Promise.all(ALL.map((state) => listOf(state, signal))), []);
  useFresh(TELLING, again);
  return (
    <div class="page">
      <Tools onDone={again} />
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer && answer.every((list) => list.length === 0) && <None />}
      {answer?.some((list) => list.length > 0) && <Groups lists={new Map(ALL.map((state, index) => [state, answer[index] ?? []]))} onChange={again} />}
    </div>
  );
}

function listOf(state: LearnedState, signal: AbortSignal): Promise<readonly LearnedResponse[]> {
  return api.get<LearnedList>("/api/learned", { state, limit: MOST }, signal).then(({ learned }) => learned);
}

function Tools({ onDone }: { onDone: () => void }) {
  const [told, setTold] = useState("");
  const { busy, error, run } = useAction();
  const act = (verb: string, words: (report: ReflectionResponse) => string) =>
    void run(async () => {
      setTold("");
      setTold(words(await api.post<ReflectionResponse>(`/api/learned/${verb}`)));
      onDone();
    });
  return (
    <div>
      <div class="section-head">
        <span class="soft small lead">Finished turns are read when a session is quiet. Only what can be quoted is written down.</span>
        <div class="row">
          <Button icon="box" disabled={busy} onClick={() => act("curate", tidiedWords)} title="Put aside what is unused, outdated or there twice">
            Tidy up
          </Button>
          <Button icon="search" kind="main" disabled={busy} onClick={() => act("reflect", readWords)}>
            Read sessions now
          </Button>
        </div>
      </div>
      <div role="status">
        {busy && <Loading what="Working" />}
        {told && <p class="learned-report">{told}</p>}
      </div>
      {error !== null && <Failure error={error} />}
    </div>
  );
}

interface Shape {
  lists: ReadonlyMap<LearnedState, readonly LearnedResponse[]>;
  onChange: () => void;
}

function Groups({ lists, onChange }: Shape) {
  const titleOf = useTitles();
  const wanted = place.value.query.get("tab");
  const chosen = ALL.find((state) => state === wanted) ?? "new";
  const options = ALL.map((value) => ({ value, label: STATES[value].title, count: lists.get(value)?.length ?? 0 }));
  const rows = lists.get(chosen) ?? [];
  return (
    <div class="stack">
      <Choices label="What became of it" options={options} chosen={chosen} onChoose={(state) => void (location.hash = `${href("learned")}?tab=${state}`)} />
      <p class="soft small">{STATES[chosen].about}</p>
      {rows.length === 0 && <p class="soft">Nothing here.</p>}
      {rows.length > 0 && (
        <ul class="rows" aria-label={STATES[chosen].title}>
          {rows.map((each) => (
            <Row key={each.number} learned={each} titleOf={titleOf} onChange={onChange} />
          ))}
        </ul>
      )}
      {rows.length === MOST && <p class="soft small">Only the newest {MOST} are shown.</p>}
    </div>
  );
}

function None() {
  return (
    <Empty icon="spark" title="Nothing learned yet.">
      <p>When you tell the agent something that lasts, such as “The invoices are in the folder accounts”, it appears here with your words.</p>
    </Empty>
  );
}
