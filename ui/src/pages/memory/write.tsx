/** Writing something down, or saying what is true instead. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Failure } from "../../parts/failure";
import { Select, TextArea } from "../../parts/field";
import { tell } from "../../parts/toast";
import { go, href } from "../../router";
import { api } from "../../wire/api";
import type { MemoryResponse, MemoryWritten } from "../../wire/responses";
import { KINDS, similarIn } from "./said";
import { changed } from "./undo";

const LONGEST = 100_000;
// What was said in a session is written by the session.
const kinds = Object.entries(KINDS)
  .filter(([value]) => value !== "conversation")
  .map(([value, label]) => ({ value, label }));

/** A dialog in which something new is written down. */
export function Write({ onClose }: { onClose: () => void }) {
  const [content, setContent] = useState("");
  const [kind, setKind] = useState("fact");
  const { error, busy, attempt } = useWriting(onClose);
  const known = similarIn(error);
  const write = (more: object = {}) =>
    attempt(api.post<MemoryWritten>("/api/memory", { content: content.trim(), kind, ...more }));
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      {known && (
        <Button disabled={busy} onClick={() => write({ keep_both: true })}>
          Keep both
        </Button>
      )}
      {!known && (
        <Button kind="main" disabled={busy || !content.trim()} onClick={() => write()}>
          Remember
        </Button>
      )}
    </>
  );
  return (
    <Dialog title="Add a memory" onClose={onClose} actions={actions}>
      <div class="stack">
        <TextArea
          label="Memory"
          hint="A complete sentence, such as “The invoices are in the folder accounts.”"
          value={content}
          maxLength={LONGEST}
          onInput={setContent}
        />
        <Select label="Kind" value={kind} options={kinds} onChange={setKind} />
        {known && <Similar known={known} onReplace={(old) => write({ supersedes: old.id })} busy={busy} />}
        {!known && error !== null && <Failure error={error} />}
      </div>
    </Dialog>
  );
}

/** A dialog in which a memory is corrected; the old words stay as its history. */
export function Correct({ memory, onClose }: { memory: MemoryResponse; onClose: () => void }) {
  const [content, setContent] = useState(memory.content);
  const { error, busy, attempt } = useWriting(onClose);
  const known = similarIn(error);
  const words = content.trim();
  const correct = () => attempt(api.patch<MemoryWritten>(`/api/memory/${memory.id}`, { content: words }));
  // Written as a new memory in its place: only so can it stand beside what is similar.
  const keepBoth = () => {
    const { id, kind, scope, session_id: session } = memory;
    const place = scope === "session" ? { scope, session_id: session } : { scope };
    attempt(api.post<MemoryWritten>("/api/memory", { content: words, kind, ...place, supersedes: id, keep_both: true }));
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      {known && memory.kind !== "conversation" && (
        <Button disabled={busy} onClick={keepBoth}>
          Keep both
        </Button>
      )}
      <Button kind="main" disabled={busy || !words || words === memory.content} onClick={correct}>
        Correct
      </Button>
    </>
  );
  return (
    <Dialog title={`Correct memory #${memory.id}`} onClose={onClose} actions={actions}>
      <div class="stack">
        <TextArea
          label="Corrected memory"
          hint="The old version is kept as history and no longer recalled."
          rows={6}
          value={content}
          maxLength={LONGEST}
          onInput={setContent}
        />
        {known && <Similar known={known} busy={busy} />}
        {!known && error !== null && <Failure error={error} />}
      </div>
    </Dialog>
  );
}

/** Something that is being written: what went wrong, and the way to try. */
function useWriting(onClose: () => void) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const attempt = (work: Promise<MemoryWritten>) => {
    setBusy(true);
    work
      .then(({ status, memory }) => {
        tell(status === "merged" ? "This is already remembered." : "Memory saved.");
        changed();
        onClose();
        go("memory", String(memory.id));
      })
      .catch(setError)
      .finally(() => setBusy(false));
  };
  return { error, busy, attempt };
}

interface Shape {
  known: readonly MemoryResponse[];
  busy: boolean;
  onReplace?: (old: MemoryResponse) => void;
}

function Similar({ known, busy, onReplace }: Shape) {
  return (
    <div role="alert">
      <p>Not saved: there are similar memories.</p>
      <ul class="rows similar">
        {known.map((memory) => (
          <li key={memory.id} class="similar-one">
            <a class="grow" href={href("memory", String(memory.id))}>
              {memory.content}
            </a>
            {onReplace && (
              <Button
                small
                disabled={busy}
                onClick={() => onReplace(memory)}
                aria-label={`Replace it: ${memory.content.slice(0, 80)}`}
              >
                Replace it
              </Button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
