/** What the agent sees: the next request of a session, by its parts. */

import { useEffect, useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { TextArea } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { tokens } from "../../parts/amount";
import { href, place } from "../../router";
import { tellFailure } from "../../parts/toast";
import { useHead } from "../../shell/header";
import { useAsked } from "../../state/asked";
import { overhear } from "../../state/activity";
import { api } from "../../wire/api";
import type { ContextResponse, SessionList } from "../../wire/responses";
import { leftOut, percent, piecesOf } from "./parts";
import { Sections } from "./sections";
import "./context.css";

export default function ContextPage() {
  const [session] = place.value.rest;
  return session ? <OfSession key={session} session={session} /> : <Choice />;
}

/** Whoever names no session chooses one. */
function Choice() {
  const { answer, error, again } = useAsked((signal) => api.get<SessionList>("/api/sessions", { limit: 20 }, signal), []);
  return (
    <div class="page">
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading />}
      {answer?.sessions.length === 0 && (
        <Empty icon="context" title="No sessions yet.">
          <a href={href("chat")}>Start a chat</a>
        </Empty>
      )}
      {answer && answer.sessions.length > 0 && (
        <>
          <p class="soft">Choose a session:</p>
          <ul class="context-choice">
            {answer.sessions.map((each) => (
              <li key={each.id}>
                <a href={href("context", each.id)}>{each.title}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

const ENDS: ReadonlySet<string> = new Set(["done", "stopped", "limit", "error", "cleared", "compacted", "model_changed"]);

function OfSession({ session }: { session: string }) {
  useHead("What the agent sees");
  const [draft, setDraft] = useState("");
  const [prompt, setPrompt] = useState("");
  const path = `/api/sessions/${encodeURIComponent(session)}/context`;
  const { answer, error, busy, again } = useAsked((signal) => api.get<ContextResponse>(path, { prompt }, signal), [session, prompt]);
  useEffect(() => overhear((heard) => "session_id" in heard && heard.session_id === session && ENDS.has(heard.type) && again()), [session]);
  return (
    <div class="page" aria-busy={busy}>
      <a class="back" href={href("chat", session)}>
        Back to the session
      </a>
      <p class="soft">The next request, as it would be made now. No model is called; token counts are estimates.</p>
      <form
        class="context-ask"
        onSubmit={(event) => {
          event.preventDefault();
          setPrompt(draft.trim());
        }}
      >
        <div class="grow">
          <TextArea label="Message to try" rows={2} value={draft} onInput={setDraft} placeholder="See which memories it recalls" />
        </div>
        <Button type="submit" disabled={draft.trim() === prompt}>
          Show
        </Button>
        <Button onClick={() => void api.post(path.replace(/context$/, "compact")).then(again).catch(tellFailure)}>Compact</Button>
      </form>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Building the request" />}
      {answer && <Request told={answer} />}
    </div>
  );
}

function Request({ told }: { told: ContextResponse }) {
  const missing = leftOut(told);
  return (
    <>
      {told.problem && (
        <div class="failure" role="alert">
          <Icon name="warning" />
          <div class="grow">{told.problem}</div>
        </div>
      )}
      <Bar told={told} />
      {missing.length > 0 && (
        <section aria-label="Left out">
          <h2 class="context-title">Left out</h2>
          <ul class="context-missing">
            {missing.map((words) => (
              <li key={words}>{words}</li>
            ))}
          </ul>
        </section>
      )}
      <Sections told={told} />
    </>
  );
}

const WIDE = 1000;

function Bar({ told }: { told: ContextResponse }) {
  const pieces = piecesOf(told.shares, told.window);
  const share = told.window ? told.total / told.window : null;
  return (
    <figure class="context-bar">
      <p>
        About <strong>{told.total.toLocaleString("en")}</strong> tokens
        {told.window !== null && ` of ${told.window.toLocaleString("en")} (${percent(share ?? 0)})`} for <span class="mono">{told.model || "no model"}</span>.
        {told.window === null && <span class="soft"> The context window of the model is unknown.</span>}
      </p>
      <svg viewBox={`0 0 ${WIDE} 10`} preserveAspectRatio="none" aria-hidden="true">
        {pieces.map((piece) => (
          <rect key={piece.name} class={`part-${piece.name}`} x={piece.start * WIDE} y={0} width={Math.max(1.5, piece.length * WIDE)} height={10}>
            <title>{`${piece.title}: ${tokens(piece.tokens)}`}</title>
          </rect>
        ))}
      </svg>
      <ul class="context-key">
        {pieces.map((piece) => (
          <li key={piece.name}>
            <svg class="key-mark" viewBox="0 0 10 10" aria-hidden="true">
              <rect class={`part-${piece.name}`} width="10" height="10" rx="2" />
            </svg>
            {piece.title}{" "}
            <span class="soft small">
              {tokens(piece.tokens)}, {percent(piece.length)}
            </span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
