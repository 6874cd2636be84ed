/** The palette: a page or a session, found by its name. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../parts/icon";
import { plain } from "../parts/words";
import { PAGES } from "../pages";
import { go } from "../router";
import { useAsked } from "../state/asked";
import { newSession } from "../state/session";
import { api } from "../wire/api";
import type { SessionList } from "../wire/responses";

interface Target {
  key: string;
  icon: IconName;
  label: string;
  note: string;
  go: () => void;
}

const SESSIONS = 8;

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  const sessions = useAsked(
    (signal) => api.get<SessionList>("/api/sessions", { q: text.trim(), limit: SESSIONS, origin: text.trim() ? "all" : "own" }, signal),
    [text],
  );
  useEffect(() => box.current?.showModal(), []);
  const found = targets(text, sessions.answer);
  const chosen = Math.min(at, found.length - 1);
  const take = (target: Target | undefined) => {
    if (!target) return;
    onClose();
    target.go();
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((chosen + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(found[chosen]);
    }
  };
  return (
    <dialog ref={box} class="dialog palette" aria-label="Search" onClose={onClose} onClick={(event) => event.target === box.current && onClose()}>
      <input
        class="palette-input"
        type="text"
        role="combobox"
        aria-label="Find a page or a session"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[chosen] ? `palette-${chosen}` : undefined}
        placeholder="Find a page or a session"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={move}
      />
      <div class="palette-list" id="palette-list" role="listbox" aria-label="Results">
        {found.map((target, index) => (
          <div
            key={target.key}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            class="palette-item"
            onPointerEnter={() => setAt(index)}
            onClick={() => take(target)}
          >
            <Icon name={target.icon} />
            <span class="grow clip">{target.label}</span>
            <span class="soft small clip">{target.note}</span>
          </div>
        ))}
      </div>
    </dialog>
  );
}

function targets(text: string, list: SessionList | null): Target[] {
  const wanted = text.trim().toLowerCase();
  const fresh: Target = { key: "new", icon: "plus", label: "New session", note: "", go: () => go("chat", newSession()) };
  const pages: Target[] = PAGES.filter((page) => !page.inner).map((page) => ({
    key: `page-${page.path}`,
    icon: page.icon,
    label: page.title,
    note: "Page",
    go: () => go(page.path),
  }));
  const sessions: Target[] = (list?.sessions ?? []).map((session) => ({
    key: session.id,
    icon: "chat",
    label: session.title,
    note: plain(session.preview),
    go: () => go("chat", session.id),
  }));
  return [...[fresh, ...pages].filter((each) => each.label.toLowerCase().includes(wanted)), ...sessions];
}
