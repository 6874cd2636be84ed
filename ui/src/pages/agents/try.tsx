/** One message, tried with two versions side by side. */

import { useState } from "preact/hooks";
import { money, tokens } from "../../parts/amount";
import { Button } from "../../parts/button";
import { spent } from "../../parts/chain";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Select, TextArea } from "../../parts/field";
import { Markdown } from "../../parts/markdown";
import { Tag } from "../../parts/tag";
import { href } from "../../router";
import type { AgentResponse } from "../../wire/responses";
import { attempt, attemptSession, type Attempt } from "./attempt";
import type { Panel } from "./one";
import { publishedOf } from "./words";

/** An attempt on its way, or what came of it. */
interface Tried {
  label: string;
  session: string;
  result: Attempt | null;
  error: unknown;
}

/** What stands for no second version. */
const NONE = "";

export function Try({ agent, versions }: Panel) {
  const published = publishedOf(versions);
  const draft = agent.stage === "published" && versions[0]?.stage === "draft" ? versions[0] : agent;
  const [first, setFirst] = useState(String(draft.version));
  const [second, setSecond] = useState(published && published.version !== draft.version ? String(published.version) : NONE);
  const [message, setMessage] = useState("");
  const [tried, setTried] = useState<readonly Tried[]>([]);
  const busy = tried.some((each) => !each.result && each.error === null);
  const options = versions.map((each) => ({ value: String(each.version), label: `Version ${each.version} · ${each.stage}` }));
  const start = () => {
    const begun = [first, second].filter(Boolean).map((version) => ({ label: `${agent.name}@${version}`, session: attemptSession(), result: null, error: null }));
    setTried(begun);
    const settle = (session: string, change: Partial<Tried>) =>
      setTried((before) => before.map((each) => (each.session === session ? { ...each, ...change } : each)));
    for (const { label, session } of begun) {
      attempt(session, label, message.trim())
        .then((result) => settle(session, { result }))
        .catch((error: unknown) => settle(session, { error }));
    }
  };
  return (
    <div class="stack">
      <form
        class="stack"
        aria-label="Try it"
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <div class="agent-fields">
          <Select label="Try" value={first} onChange={setFirst} options={options} />
          <Select label="Beside" value={second} onChange={setSecond} options={[{ value: NONE, label: "Nothing" }, ...options]} />
        </div>
        <TextArea label="Message" rows={2} value={message} onInput={setMessage} hint="Each has a session of its own, and uses its tools for real." />
        <div class="row">
          <Button kind="main" icon="send" type="submit" disabled={busy || !message.trim()}>
            {busy ? "Trying" : "Try"}
          </Button>
        </div>
      </form>
      {tried.length > 0 && (
        <div class="tries">
          {tried.map((each) => (
            <Column key={each.session} tried={each} stage={stageOf(versions, each.label)} />
          ))}
        </div>
      )}
    </div>
  );
}

function stageOf(versions: readonly AgentResponse[], label: string): string {
  return versions.find((each) => `${each.name}@${each.version}` === label)?.stage ?? "";
}

function Column({ tried: { label, session, result, error }, stage }: { tried: Tried; stage: string }) {
  return (
    <section class="card try" aria-label={label}>
      <header class="card-head">
        <h3>{label}</h3>
        <Tag>{stage}</Tag>
      </header>
      <div class="card-body stack">
        {error !== null && <Failure error={error} />}
        {!result && error === null && <Loading what="Working" />}
        {result && <Shown result={result} />}
        <div class="row small">
          <a href={href("chat", session)}>Open the session</a>
          <a href={href("context", session)}>What it sees</a>
        </div>
      </div>
    </section>
  );
}

function Shown({ result }: { result: Attempt }) {
  const { status, text, calls, cost, seconds } = result;
  const facts = [`${tokens(result.tokens)} tokens`, cost === null ? "" : money(cost), seconds === null ? "" : spent(seconds)];
  return (
    <>
      {status !== "done" && <Tag tone="warn">{status === "waiting" ? "waiting for approval" : status}</Tag>}
      <Markdown text={text} />
      <p class="soft small">{calls.length === 0 ? "No calls" : calls.map(([tool, count]) => (count > 1 ? `${tool} ×${count}` : tool)).join(", ")}</p>
      <p class="soft small">{facts.filter(Boolean).join(" · ")}</p>
    </>
  );
}
