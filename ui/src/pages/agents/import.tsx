/** Agents from a file; they are drafts until a person has looked at them. */

import { ImportFile } from "../../parts/import_file";
import { tell } from "../../parts/toast";
import { go } from "../../router";
import { api } from "../../wire/api";
import type { AgentList } from "../../wire/responses";

export function ImportAgents({ onDone }: { onDone: () => void }) {
  const bring = async (chosen: File) => {
    const { agents } = await api.post<AgentList>("/api/agents/import", { text: await chosen.text(), file: chosen.name });
    tell(agents.length === 1 ? "1 agent imported as a draft." : `${agents.length} agents imported as drafts.`);
    onDone();
    const [only] = agents;
    if (only && agents.length === 1) go("agents", only.name);
  };
  return <ImportFile label="A file with an agent" accept=".md,.af,.json,text/markdown" bring={bring} />;
}
