/** What was forgotten just now, and the way back. It stays when the page changes. */

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { tell, tellFailure } from "../../parts/toast";
import { api } from "../../wire/api";
import type { Forgotten, MemoryRemembered } from "../../wire/responses";

const gone = signal<Forgotten | null>(null);

/** Counts what changed here, so that lists are read again. */
export const changes = signal(0);

/** Say that memories were changed. */
export function changed(): void {
  changes.value += 1;
}

/** Say that memories were forgotten. */
export function wasForgotten(forgotten: Forgotten): void {
  gone.value = forgotten;
  changed();
}

export function Undo() {
  const [busy, setBusy] = useState(false);
  const forgotten = gone.value;
  if (!forgotten) return null;
  const undo = async () => {
    setBusy(true);
    try {
      const back = await api.post<MemoryRemembered>(`/api/memory/undo/${encodeURIComponent(forgotten.batch ?? "")}`);
      gone.value = null;
      tell(back.memories.length === 1 ? "Restored." : `${back.memories.length} are remembered again.`);
      changed();
    } catch (error) {
      tellFailure(error);
    }
    setBusy(false);
  };
  const count = forgotten.memories.length;
  return (
    <div class="undo" role="status">
      <Icon name="trash" />
      <span class="grow">
        {count === 1 ? "One memory was forgotten." : `${count} memories were forgotten.`}
        {forgotten.batch && " It can be undone for 30 days."}
      </span>
      {forgotten.batch && (
        <Button small icon="retry" disabled={busy} onClick={() => void undo()}>
          Undo
        </Button>
      )}
      <IconButton icon="close" label="Close" small onClick={() => void (gone.value = null)} />
    </div>
  );
}
