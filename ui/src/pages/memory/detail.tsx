/** One memory: its words, where they come from, and what hangs on them. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Icon } from "../../parts/icon";
import { tell, tellFailure } from "../../parts/toast";
import { go, href } from "../../router";
import { useHead } from "../../shell/header";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { api } from "../../wire/api";
import type { MemoryResponse, MemoryShown } from "../../wire/responses";
import { Forget } from "./forget";
import { Provenance } from "./provenance";
import { Marks, MemoryRow } from "./row";
import { changed, changes } from "./undo";
import { Correct } from "./write";

const TELLING: ReadonlySet<string> = new Set(["catch_up"]);

export function Detail({ number }: { number: string }) {
  useHead(`Memory #${number}`);
  const path = `/api/memory/${encodeURIComponent(number)}`;
  const { answer, error, again } = useAsked((signal) => api.get<MemoryShown>(path, {}, signal), [number, changes.value]);
  useFresh(TELLING, again);
  return (
    <>
      <a class="row" href={href("memory")}>
        <Icon name="left" />
        All memories
      </a>
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer && error === null && (
        <>
          <Words memory={answer.memory} />
          <Provenance memory={answer.memory} />
          <Others title="Replaces" memories={answer.history} />
          <Others title="Made from" memories={answer.origins} />
          <Others title="Derived memories" memories={answer.derived} />
        </>
      )}
    </>
  );
}

function Words({ memory }: { memory: MemoryResponse }) {
  const [dialog, setDialog] = useState<"correct" | "forget" | null>(null);
  const enable = async () => {
    try {
      await api.patch(`/api/memory/${memory.id}`, { enabled: !memory.enabled });
      tell(memory.enabled ? "Memory switched off. It will not be recalled." : "Memory switched on.");
      changed();
    } catch (error) {
      tellFailure(error);
    }
  };
  return (
    <section class="card" aria-label="Its words">
      <div class="card-body stack">
        <p class="memory-words">{memory.content}</p>
        <div class="row">
          <Marks memory={memory} />
        </div>
        <div class="row">
          {memory.valid_to === null && (
            <Button icon="edit" onClick={() => setDialog("correct")}>
              Correct
            </Button>
          )}
          <Button icon="power" onClick={() => void enable()}>
            {memory.enabled ? "Switch off" : "Switch on"}
          </Button>
          <Button icon="trash" kind="danger" onClick={() => setDialog("forget")}>
            Forget…
          </Button>
        </div>
      </div>
      {dialog === "correct" && <Correct memory={memory} onClose={() => setDialog(null)} />}
      {dialog === "forget" && <Forget memory={memory} onClose={() => setDialog(null)} onDone={() => go("memory")} />}
    </section>
  );
}

function Others({ title, memories }: { title: string; memories: readonly MemoryResponse[] }) {
  if (memories.length === 0) return null;
  return (
    <section aria-label={title}>
      <header class="section-head">
        <h2>{title}</h2>
      </header>
      <ul class="rows">
        {memories.map((memory) => (
          <MemoryRow key={memory.id} memory={memory} />
        ))}
      </ul>
    </section>
  );
}
