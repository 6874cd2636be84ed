/** The sessions at the side: search, begin, rename, take out, delete. */

import { useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Search } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { Menu } from "../../parts/menu";
import { plain } from "../../parts/words";
import { ago } from "../../parts/moment";
import { go, href } from "../../router";
import { approvals } from "../../state/activity";
import { newSession } from "../../state/session";
import type { SessionTold } from "../../wire/shapes";
import type { Sessions } from "./session_list";
import { SessionDialogs, sessionChoices, type Doing } from "./session_menu";

interface Shape {
  sessions: Sessions;
  current: string;
  search: string;
  onSearch: (text: string) => void;
  onGo: () => void;
  onClose: () => void;
}

export function SessionSide({ sessions, current, search, onSearch, onGo, onClose }: Shape) {
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
      {error !== null && <Failure error={error} onRetry={sessions.again} />}
      {!list && error === null && <Loading />}
      {list?.length === 0 && (
        <p class="soft small sessions-none">
          {search ? "No session says that." : "Your sessions will stand here."}
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
  session: SessionTold;
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
            <span class="session-waits" title="Waits for an approval">
              <Icon name="approvals" />
              <span class="unseen">Waits for an approval.</span>
            </span>
          )}
          <span class="clip grow">{plain(session.preview) || "Nothing said yet"}</span>
          <time dateTime={session.updated_at}>{ago(session.updated_at, Date.now()).replace(" ago", "")}</time>
        </span>
      </a>
      <span class="session-menu">
        <Menu label={`More about ${session.title}`} button={<Icon name="more" />} choices={sessionChoices(session, onDo)} />
      </span>
    </li>
  );
}
