/** The chat: sessions at the side, one of them open, its tasks beside it. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { money, tokens } from "../../parts/amount";
import { Button, IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Menu } from "../../parts/menu";
import { Meter } from "../../parts/meter";
import { Veil } from "../../parts/veil";
import { place, replace } from "../../router";
import { useHead } from "../../shell/header";
import { status } from "../../state/access";
import { active, totals } from "../../state/log";
import { newSession, type OpenSession } from "../../state/session";
import { api } from "../../wire/api";
import type { SessionResponse } from "../../wire/responses";
import { Conversation, useSession } from "./conversation";
import { ModelMenu } from "./model_menu";
import { RulePanel, suggested, useRules } from "./rules";
import { useSessions } from "./session_list";
import { SessionDialogs, sessionChoices, type Doing } from "./session_menu";
import { SessionSide } from "./sessions";
import { TaskPanel } from "./tasks";
import "./chat.css";

/** The session that this page has shown last. */
let before = "";

export default function Chat() {
  const [id] = place.value.rest;
  const [search, setSearch] = useState("");
  const [side, setSide] = useState(false);
  const [origin, setOrigin] = useState("own");
  const sessions = useSessions(search, origin);
  // Whoever names no session comes back to the one that was open here, or begins one.
  useEffect(() => {
    if (!id) replace("chat", before || newSession());
    else before = id;
  }, [id]);
  return (
    <div class={side ? "chat chat-side" : "chat"}>
      <SessionSide
        sessions={sessions}
        current={id ?? ""}
        search={search}
        onSearch={setSearch}
        origin={origin}
        onOrigin={setOrigin}
        onGo={() => setSide(false)}
        onClose={() => setSide(false)}
      />
      {side && <Veil onClose={() => setSide(false)} />}
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
  known: SessionResponse | null;
  onSide: () => void;
  onChange: () => void;
}

function Opened({ id, known, onSide, onChange }: Shape) {
  const session = useSession(id);
  const [told, setTold] = useState<SessionResponse | null>(known);
  const [panel, setPanel] = useState<"tasks" | "rules" | null>(null);
  const [doing, setDoing] = useState<Doing | null>(null);
  const view = session.view.value;
  useEffect(() => {
    if (known) setTold(known);
    else if (session.ready.value && view.last > 0) {
      api
        .get<SessionResponse>(`/api/sessions/${encodeURIComponent(id)}`)
        .then(setTold)
        .catch(() => undefined);
    }
  }, [known, session.ready.value, view.last > 0]);
  const model = view.model || told?.model || status.value?.model || "";
  const mode = told?.mode ?? "bounded";
  const agent = told?.agent ?? "";
  const title = view.title ?? told?.title ?? "New session";
  const choose = async (name: string) => {
    const path = `/api/sessions/${encodeURIComponent(id)}`;
    if (told) await api.patch(path, { model: name });
    else setTold(await api.post<SessionResponse>("/api/sessions", { id, model: name }));
    onChange();
  };
  const hasTasks = view.tasks.length > 0;
  const tasks = panel === "tasks";
  const rules = useRules(id, session.ready.value && view.last > 0);
  const waiting = suggested(rules).length;
  const more = (
    <>
      <Spent session={session} />
      <ModelMenu current={model} onChoose={choose} />
      <IconButton icon="tasks" label={hasTasks ? `Tasks: ${view.progress}` : "Tasks"} aria-pressed={tasks} small onClick={() => setPanel(tasks ? null : "tasks")} />
      <Button
        icon="pin"
        kind="quiet"
        small
        title="Rules"
        aria-label={waiting > 0 ? `Rules: ${waiting} suggested` : "Rules"}
        aria-pressed={panel === "rules"}
        onClick={() => setPanel(panel === "rules" ? null : "rules")}
      >
        {waiting || ""}
      </Button>
      {told && <Menu label="More about this session" button={<Icon name="more" />} choices={sessionChoices(told, setDoing)} />}
      <span class="chat-open-side">
        <IconButton icon="chat" label="Sessions" small onClick={onSide} />
      </span>
    </>
  );
  useHead(title, more, [model, panel, waiting, told, hasTasks, view.progress, session]);
  const conversation = useMemo(() => <Conversation session={session} model={model} mode={mode} agent={agent} />, [session, model, mode, agent]);
  return (
    <>
      {conversation}
      {tasks && <TaskPanel tasks={view.tasks} summary={view.progress} onClose={() => setPanel(null)} />}
      {panel === "rules" && <RulePanel asked={rules} onClose={() => setPanel(null)} />}
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
  const title = `${used.input.toLocaleString("en")} tokens in, ${used.output.toLocaleString("en")} out`;
  return (
    <span class="chat-meter">
      <Meter label={words} title={title} value={step?.tokens ?? 0} most={step?.budget ?? null} />
    </span>
  );
}
