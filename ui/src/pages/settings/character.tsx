/** SOUL.md and USER.md: who the agent is, and who it works for. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { TextArea } from "../../parts/field";
import { tell } from "../../parts/toast";
import { useAsked } from "../../state/asked";
import { useAction } from "../../state/action";
import { api, fileAddress } from "../../wire/api";
import type { FileList } from "../../wire/responses";

const FILES = [
  { path: "SOUL.md", title: "Agent", words: "How the agent should behave: its role, tone and rules." },
  { path: "USER.md", title: "You", words: "What the agent should know about you: name, work, preferences." },
];

export function Character() {
  return (
    <>
      <p class="soft">Every request to the model carries these texts. Changes apply from the next message on.</p>
      {FILES.map((file) => (
        <Editor key={file.path} {...file} />
      ))}
    </>
  );
}

/** What a file says; nothing when it is not there. */
async function read(path: string, signal: AbortSignal): Promise<string> {
  const { files } = await api.get<FileList>("/api/files", { path: "." }, signal);
  if (!files.some((file) => file.path === path)) return "";
  return api.get<string>(fileAddress(path), {}, signal);
}

function Editor({ path, title, words }: { path: string; title: string; words: string }) {
  const { answer, error, again } = useAsked((signal) => read(path, signal), [path]);
  const [text, setText] = useState<string | null>(null);
  const work = useAction();
  if (error) return <Failure error={error} onRetry={again} />;
  if (answer === null) return <Loading />;
  const save = async () => {
    await api.upload("/api/files/content", { path }, new Blob([text ?? ""]));
    tell(`${path} was saved.`);
    setText(null);
    again();
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void work.run(save);
      }}
    >
      <TextArea label={`${title} (${path})`} hint={words} rows={10} value={text ?? answer} onInput={setText} />
      {work.error !== null && <Failure error={work.error} />}
      <div class="row">
        <Button kind="main" type="submit" disabled={work.busy || text === null || text === answer}>
          Save {path}
        </Button>
      </div>
    </form>
  );
}
