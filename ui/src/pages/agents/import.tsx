/** Agents from a file; they are drafts until a person has looked at them. */

import { useRef } from "preact/hooks";
import { Button } from "../../parts/button";
import { tell, tellFailure } from "../../parts/toast";
import { go } from "../../router";
import { useAction } from "../../state/action";
import { api } from "../../wire/api";
import type { AgentList } from "../../wire/responses";

export function ImportAgents({ onDone }: { onDone: () => void }) {
  const file = useRef<HTMLInputElement>(null);
  const { busy, run } = useAction();
  const bring = async (chosen: File) => {
    const { agents } = await api.post<AgentList>("/api/agents/import", { text: await chosen.text(), file: chosen.name });
    tell(agents.length === 1 ? "1 agent imported as a draft." : `${agents.length} agents imported as drafts.`);
    onDone();
    const [only] = agents;
    if (only && agents.length === 1) go("agents", only.name);
  };
  return (
    <>
      <input
        ref={file}
        type="file"
        accept=".md,.af,.json,text/markdown"
        class="unseen"
        tabIndex={-1}
        aria-label="A file with an agent"
        onChange={(event) => {
          const [chosen] = event.currentTarget.files ?? [];
          if (chosen) void run(() => bring(chosen).catch(tellFailure));
          event.currentTarget.value = "";
        }}
      />
      <Button icon="upload" disabled={busy} onClick={() => file.current?.click()}>
        Import
      </Button>
    </>
  );
}
