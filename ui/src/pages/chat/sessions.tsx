/** The sessions at the side: search, begin, rename, take out, delete. */

import { useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Search } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { Menu } from "../../parts/menu";
import { Tag } from "../../parts/tag";
import { plain } from "../../parts/words";
import { ago } from "../../parts/moment";
import { go, href } from "../../router";
import { approvals } from "../../state/activity";
import { newSession } from "../../state/session";
import type { SessionResponse } from "../../wire/responses";
import type { Sessions } from "./session_list";
import { SessionDialogs, sessionChoices, type Doing } from "./session_menu";

const ORIGINS = { own: "Your chats", openai: "API clients", mcp: "MCP clients", delegate: "Delegates", all: "All sessions" };

/** What marks a session that no person began. */
const MARKS: Readonly<Record<string, string>> = { openai: "API", mcp: "MCP", delegate: "Agent" };

interface Shape {
  sessions: Sessions;
  current: string;
  search: string;
  onSearch: (text: string) => void;
  origin: string;
  onOrigin: (origin: string) => void;
  onGo: () => void;
  onClose: () => void;
}

export function SessionSide({ sessions, current, search, onSearch, origin, onOrigin, onGo, onClose }: Shape) {
  const [doing, setDoing] = useState<Doing | null>(null);
  const { list, error, more } = sessions;
  return (
    <aside class="sessions" aria-label="Sessions">
      <div class="sessions-head">
        <Button
          icon="plus"
          onClick={() => {
            onGo();
            go("chat", newSession());
          }}
        >
          New session
        </Button>
        <span class="sessions-close">
          <IconButton icon="close" label="Close the sessions" onClick={onClose} />
        </span>
      </div>
      <Search label="Search sessions" value={search} onInput={onSearch} />
      <select class="input sessions-origin" aria-label="Started by" value={origin} onChange={(event) => onOrigin(event.currentTarget.value)}>
        {Object.entries(ORIGINS).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      {error !== null && <Failure error={error} onRetry={sessions.again} />}
      {!list && error === null && <Loading />}
      {list?.length === 0 && (
        <p class="soft small sessions-none">
          {search || origin !== "own" ? "No chats found." : "Your chats will appear here."}
        </p>
      )}
      <ul class="sessions-list">
        {list?.map((session) => (
          <SessionLine key={session.id} session={session} current={session.id === current} onGo={onGo} onDo={setDoing} />
        ))}
      </ul>
      {more && (
        <Button small kind="quiet" onClick={more}>
          Show more
        </Button>
      )}
      {doing && <SessionDialogs doing={doing} current={current} onDone={sessions.again} onClose={() => setDoing(null)} />}
    </aside>
  );
}

interface Line {
  session: SessionResponse;
  current: boolean;
  onGo: () => void;
  onDo: (doing: Doing) => void;
}

function SessionLine({ session, current, onGo, onDo }: Line) {
  const waits = approvals.value.some((approval) => approval.session_id === session.id);
  return (
    <li class={current ? "session session-current" : "session"}>
      <a class="session-link" href={href("chat", session.id)} aria-current={current ? "page" : undefined} onClick={onGo}>
        <span class="session-title clip">{session.title}</span>
        <span class="session-facts">
          {waits && (
            <span class="session-waits" title="Waiting for approval">
              <Icon name="approvals" />
              <span class="unseen">Waiting for approval.</span>
            </span>
          )}
          {session.origin && session.origin !== "own" && <Tag>{MARKS[session.origin]}</Tag>}
          <span class="clip grow">{plain(session.preview) || "No messages yet"}</span>
          <time dateTime={session.updated_at}>{ago(session.updated_at, Date.now()).replace(" ago", "")}</time>
        </span>
      </a>
      <span class="session-menu">
        <Menu label={`More about ${session.title}`} button={<Icon name="more" />} choices={sessionChoices(session, onDo)} />
      </span>
    </li>
  );
}
