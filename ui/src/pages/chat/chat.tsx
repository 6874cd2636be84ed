/** The chat: sessions at the side, one of them open, its tasks beside it. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { money, tokens } from "../../parts/amount";
import { IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Menu } from "../../parts/menu";
import { Meter } from "../../parts/meter";
import { place, replace } from "../../router";
import { useHead } from "../../shell/header";
import { status } from "../../state/access";
import { active, totals } from "../../state/log";
import { newSession, type OpenSession } from "../../state/session";
import { api } from "../../wire/api";
import type { SessionTold } from "../../wire/shapes";
import { Conversation, useSession } from "./conversation";
import { ModelMenu } from "./model_menu";
import { useSessions } from "./session_list";
import { SessionDialogs, sessionChoices, type Doing } from "./session_menu";
import { SessionSide } from "./sessions";
import { TaskPanel } from "./tasks";
import "./chat.css";

export default function Chat() {
  const [id] = place.value.rest;
  const [search, setSearch] = useState("");
  const [side, setSide] = useState(false);
  const sessions = useSessions(search);
  // Whoever names no session comes to the one that was open last, or begins one.
  useEffect(() => {
    if (!id && sessions.list) replace("chat", sessions.list[0]?.id ?? newSession());
  }, [id, sessions.list]);
  return (
    <div class={side ? "chat chat-side" : "chat"}>
      <SessionSide
        sessions={sessions}
        current={id ?? ""}
        search={search}
        onSearch={setSearch}
        onGo={() => setSide(false)}
        onClose={() => setSide(false)}
      />
      {side && <div class="chat-veil" onClick={() => setSide(false)} />}
      {id && (
        <Opened
          key={id}
          id={id}
          known={sessions.list?.find((each) => each.id === id) ?? null}
          onSide={() => setSide(true)}
          onChange={sessions.again}
        />
      )}
    </div>
  );
}

interface Shape {
  id: string;
  /** What the list says of it; null when it has not begun, or is not in the list. */
  known: SessionTold | null;
  onSide: () => void;
  onChange: () => void;
}

function Opened({ id, known, onSide, onChange }: Shape) {
  const session = useSession(id);
  const [told, setTold] = useState<SessionTold | null>(known);
  const [tasks, setTasks] = useState(false);
  const [doing, setDoing] = useState<Doing | null>(null);
  const view = session.view.value;
  useEffect(() => {
    if (known) setTold(known);
    else if (session.ready.value && view.last > 0) {
      api
        .get<SessionTold>(`/api/sessions/${encodeURIComponent(id)}`)
        .then(setTold)
        .catch(() => undefined);
    }
  }, [known, session.ready.value, view.last > 0]);
  const model = view.model || told?.model || status.value?.model || "";
  const title = view.title ?? told?.title ?? "New session";
  const choose = async (name: string) => {
    const path = `/api/sessions/${encodeURIComponent(id)}`;
    if (told) await api.patch(path, { model: name });
    else setTold(await api.post<SessionTold>("/api/sessions", { id, model: name }));
    onChange();
  };
  const hasTasks = view.tasks.length > 0;
  const more = (
    <>
      <Spent session={session} />
      <ModelMenu current={model} onChoose={choose} />
      <IconButton icon="tasks" label={hasTasks ? `Tasks: ${view.progress}` : "Tasks"} aria-pressed={tasks} small onClick={() => setTasks(!tasks)} />
      {told && <Menu label="More about this session" button={<Icon name="more" />} choices={sessionChoices(told, setDoing)} />}
      <span class="chat-open-side">
        <IconButton icon="chat" label="Sessions" small onClick={onSide} />
      </span>
    </>
  );
  useHead(title, more, [model, tasks, told, hasTasks, view.progress, session]);
  const conversation = useMemo(() => <Conversation session={session} model={model} />, [session, model]);
  return (
    <>
      {conversation}
      {tasks && <TaskPanel tasks={view.tasks} summary={view.progress} onClose={() => setTasks(false)} />}
      {doing && <SessionDialogs doing={doing} current={id} onDone={onChange} onClose={() => setDoing(null)} />}
    </>
  );
}

/** What the session has used, and how much of its budget the turn that runs has. */
function Spent({ session }: { session: OpenSession }) {
  const view = session.view.value;
  const used = totals(view);
  const step = active(view)?.step ?? null;
  const now = used.input + used.output + (step?.tokens ?? 0);
  if (now === 0) return null;
  const words = used.cost === null ? `${tokens(now)} tokens` : `${tokens(now)} tokens · ${money(used.cost)}`;
  const title = `${used.input.toLocaleString("en")} tokens read, ${used.output.toLocaleString("en")} written`;
  return (
    <span class="chat-meter">
      <Meter label={words} title={title} value={step?.tokens ?? 0} most={step?.budget ?? null} />
    </span>
  );
}
