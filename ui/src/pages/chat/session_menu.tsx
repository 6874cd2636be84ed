/** What can be done with a whole session. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Confirm, Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import type { Choice } from "../../parts/menu";
import { tell, tellFailure } from "../../parts/toast";
import { go, replace } from "../../router";
import { newSession } from "../../state/session";
import { keepUnsent } from "../../state/unsent";
import { address, api } from "../../wire/api";
import type { SessionResponse } from "../../wire/responses";
import { keepDraft } from "./drafts";

/** Something that is asked about before it is done. */
export interface Doing {
  what: "rename" | "delete" | "clear";
  session: SessionResponse;
}

const path = (session: SessionResponse) => `/api/sessions/${encodeURIComponent(session.id)}`;

/** The lines of a session's menu. */
export function sessionChoices(session: SessionResponse, onDo: (doing: Doing) => void): Choice[] {
  return [
    { label: "Rename", icon: "edit", onChoose: () => onDo({ what: "rename", session }) },
    { label: "What the agent sees", icon: "context", onChoose: () => go("context", session.id) },
    { label: "Fork", icon: "fork", onChoose: () => void fork(session) },
    { label: "Export as Markdown", icon: "download", onChoose: () => takeOut(session, "md") },
    { label: "Export as JSON lines", icon: "download", onChoose: () => takeOut(session, "jsonl") },
    { label: "Clear context", icon: "spark", onChoose: () => onDo({ what: "clear", session }) },
    { label: "Delete", icon: "trash", danger: true, onChoose: () => onDo({ what: "delete", session }) },
  ];
}

async function fork(session: SessionResponse): Promise<void> {
  try {
    go("chat", (await api.post<SessionResponse>(`${path(session)}/fork`)).id);
    tell("This is a copy. The original session is unchanged.");
  } catch (error) {
    tellFailure(error);
  }
}

function takeOut(session: SessionResponse, format: string): void {
  const link = document.createElement("a");
  link.href = address(`${path(session)}/export`, { format });
  link.download = "";
  link.click();
}

interface Shape {
  doing: Doing;
  current: string;
  onDone: () => void;
  onClose: () => void;
}

export function SessionDialogs({ doing, current, onDone, onClose }: Shape) {
  const { session } = doing;
  const attempt = (work: Promise<unknown>, words: string) => {
    work
      .then(() => {
        tell(words);
        onDone();
      })
      .catch(tellFailure);
  };
  if (doing.what === "rename") {
    const rename = (title: string) => attempt(api.patch(path(session), { title }), "Renamed.");
    return <Rename session={session} onRename={rename} onClose={onClose} />;
  }
  if (doing.what === "clear") {
    return (
      <Confirm
        title="Clear the context?"
        action="Clear"
        onConfirm={() => attempt(api.post(`${path(session)}/clear`), "Context cleared.")}
        onClose={onClose}
      >
        The model will no longer see the earlier messages of “{session.title}”. You still will.
      </Confirm>
    );
  }
  const remove = async () => {
    await api.delete(path(session));
    keepDraft(session.id, "");
    keepUnsent(session.id, []);
    if (session.id === current) replace("chat", newSession());
  };
  return (
    <Confirm title="Delete this session?" action="Delete" danger onConfirm={() => attempt(remove(), "Deleted.")} onClose={onClose}>
      “{session.title}” and all its messages will be deleted. This cannot be undone.
    </Confirm>
  );
}

function Rename(props: { session: SessionResponse; onRename: (title: string) => void; onClose: () => void }) {
  const [title, setTitle] = useState(props.session.title);
  const send = (event: Event) => {
    event.preventDefault();
    if (!title.trim()) return;
    props.onRename(title.trim());
    props.onClose();
  };
  return (
    <Dialog title="Rename the session" onClose={props.onClose}>
      <form class="stack" onSubmit={send}>
        <Field label="Title" value={title} onInput={setTitle} maxLength={300} required />
        <div class="dialog-foot">
          <Button onClick={props.onClose}>Cancel</Button>
          <Button kind="main" type="submit" disabled={!title.trim()}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
