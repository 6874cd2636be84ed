/** All that is remembered, or what answers a question. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Search, Select } from "../../parts/field";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { useLater } from "../../state/later";
import { useTitles } from "../../state/session_titles";
import { api } from "../../wire/api";
import type { MemoryList, MemoryStats } from "../../wire/responses";
import { Forget } from "./forget";
import { MemoryRow } from "./row";
import { KINDS, statsWords, TRUSTS } from "./said";
import { changes } from "./undo";
import { Write } from "./write";

const PAGE = 50;
const MOST = 1000;
// Memories are written when a turn ends, and by tools.
const TELLING: ReadonlySet<string> = new Set(["done", "tool_result", "catch_up"]);

const kinds = [{ value: "", label: "All kinds" }, ...Object.entries(KINDS).map(([value, label]) => ({ value, label }))];
const trusts = [
  { value: "", label: "Anyone" },
  ...Object.entries(TRUSTS).map(([value, { words }]) => ({ value, label: words })),
];

export function Remembered() {
  const [words, setWords] = useState("");
  const [kind, setKind] = useState("");
  const [trust, setTrust] = useState("");
  const [history, setHistory] = useState(false);
  const [limit, setLimit] = useState(PAGE);
  const [dialog, setDialog] = useState<"write" | "forget" | null>(null);
  const asked = useLater(words.trim());
  const titleOf = useTitles();
  const { answer, error, busy, again } = useAsked(
    (signal) => api.get<MemoryList>("/api/memory", { q: asked, kind, history, disabled: true, limit }, signal),
    [asked, kind, history, limit, changes.value],
  );
  useFresh(TELLING, again);
  const found = answer?.memories ?? [];
  const shown = found.filter((memory) => !trust || memory.trust === trust);
  const filtered = Boolean(asked || kind || trust);
  return (
    <>
      <div class="section-head">
        <Stats />
        <div class="row">
          <Button icon="plus" kind="main" onClick={() => setDialog("write")}>
            Add a memory
          </Button>
          <Button icon="trash" onClick={() => setDialog("forget")}>
            Forget…
          </Button>
        </div>
      </div>
      <div class="memory-filters">
        <Search label="Search memories" value={words} onInput={setWords} />
        <Select label="Kind" value={kind} options={kinds} onChange={setKind} />
        <Select label="Said by" value={trust} options={trusts} onChange={setTrust} />
      </div>
      {!asked && (
        <label class="row small soft">
          <input type="checkbox" checked={history} onChange={(event) => setHistory(event.currentTarget.checked)} />
          Show superseded memories
        </label>
      )}
      {answer?.degraded && <p class="soft small">Only a part of the search was available: {answer.degraded}</p>}
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer && shown.length === 0 && !filtered && <None />}
      {answer && shown.length === 0 && filtered && (
        <p class="soft">{busy ? "Searching…" : "No memories found."}</p>
      )}
      {shown.length > 0 && (
        <ul class="rows" aria-label="Memories" aria-busy={busy}>
          {shown.map((memory) => (
            <MemoryRow key={memory.id} memory={memory} titleOf={titleOf} />
          ))}
        </ul>
      )}
      {answer && answer.next !== null && limit < MOST && (
        <Button onClick={() => setLimit(Math.min(MOST, limit * 2))}>Show older memories</Button>
      )}
      {dialog === "write" && <Write onClose={() => setDialog(null)} />}
      {dialog === "forget" && <Forget onClose={() => setDialog(null)} />}
    </>
  );
}

function Stats() {
  const { answer, again } = useAsked((signal) => api.get<MemoryStats>("/api/memory/stats", {}, signal), [changes.value]);
  useFresh(TELLING, again);
  // A failure is told by the list, which asks the same server.
  return <p class="soft small memory-stats">{answer ? statsWords(answer) : " "}</p>;
}

function None() {
  return (
    <Empty icon="memory" title="No memories yet.">
      <p>The agent remembers what is said in its sessions. You can also add facts here.</p>
    </Empty>
  );
}
