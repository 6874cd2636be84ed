/** Forgetting: what would go is shown before anything goes. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Field, Select } from "../../parts/field";
import { tellFailure } from "../../parts/toast";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { Forgotten, MemoryResponse } from "../../wire/responses";
import { KINDS } from "./said";
import { wasForgotten } from "./undo";

const SHOWN = 50;
const kinds = [{ value: "", label: "All kinds" }, ...Object.entries(KINDS).map(([value, label]) => ({ value, label }))];

/** Which memories are meant; every condition that is given must hold. */
type Meant = { ids: number[] } | { query?: string; kind?: string; source?: string };

interface Shape {
  /** The one that is meant; without it, it is asked which. */
  memory?: MemoryResponse;
  onClose: () => void;
  onDone?: () => void;
}

export function Forget({ memory, onClose, onDone }: Shape) {
  const [meant, setMeant] = useState<Meant | null>(memory ? { ids: [memory.id] } : null);
  if (meant) return <Preview meant={meant} onBack={memory ? null : () => setMeant(null)} onClose={onClose} onDone={onDone} />;
  return <Choose onChoose={setMeant} onClose={onClose} />;
}

function Choose({ onChoose, onClose }: { onChoose: (meant: Meant) => void; onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [kind, setKind] = useState("");
  const [source, setSource] = useState("");
  const given = { query: query.trim(), kind, source: source.trim() };
  const meant = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind="main" disabled={Object.keys(meant).length === 0} onClick={() => onChoose(meant)}>
        Preview
      </Button>
    </>
  );
  return (
    <Dialog title="Forget memories" onClose={onClose} actions={actions}>
      <div class="stack">
        <Field label="Containing all of these words" value={query} onInput={setQuery} maxLength={1000} />
        <Select label="Of this kind" value={kind} options={kinds} onChange={setKind} />
        <Field
          label="From this source"
          hint="As shown on a memory, such as a web address."
          value={source}
          onInput={setSource}
          maxLength={1000}
        />
      </div>
    </Dialog>
  );
}

interface Previewed {
  meant: Meant;
  onBack: (() => void) | null;
  onClose: () => void;
  onDone: (() => void) | undefined;
}

function Preview({ meant, onBack, onClose, onDone }: Previewed) {
  const [busy, setBusy] = useState(false);
  const { answer, error } = useAsked(() => api.post<Forgotten>("/api/memory/forget", { ...meant, dry_run: true }), []);
  const forget = async () => {
    setBusy(true);
    try {
      wasForgotten(await api.post<Forgotten>("/api/memory/forget", meant));
      onClose();
      onDone?.();
    } catch (failure) {
      tellFailure(failure);
      setBusy(false);
    }
  };
  const count = answer?.memories.length ?? 0;
  const actions = (
    <>
      <Button onClick={onBack ?? onClose}>{onBack ? "Back" : "Cancel"}</Button>
      <Button kind="danger" disabled={busy || count === 0} onClick={() => void forget()}>
        {count > 1 ? `Forget ${count} memories` : "Forget"}
      </Button>
    </>
  );
  return (
    <Dialog title={count > 1 ? `Forget ${count} memories?` : "Forget this?"} onClose={onClose} actions={actions}>
      {error !== null && <Failure error={error} />}
      {!answer && error === null && <Loading what="Searching" />}
      {answer && (count === 0 ? <p>No memories match.</p> : <Going forgotten={answer} />)}
    </Dialog>
  );
}

function Going({ forgotten }: { forgotten: Forgotten }) {
  const { memories, derived } = forgotten;
  const more = memories.length - SHOWN;
  return (
    <div class="stack">
      <ul class="rows going" tabIndex={0} aria-label="Memories to forget">
        {memories.slice(0, SHOWN).map((memory) => (
          <li key={memory.id} class="going-one">
            {memory.content}
            {derived.includes(memory.id) && <span class="soft small"> (derived from it)</span>}
          </li>
        ))}
      </ul>
      {more > 0 && <p class="soft small">And {more} more.</p>}
      <p class="soft small">It can be undone for 30 days.</p>
    </div>
  );
}
