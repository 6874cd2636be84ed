/** The window: pages at the left, a head, and the page that is open. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { IconButton } from "../parts/button";
import { Icon, type IconName } from "../parts/icon";
import { Menu, type Choice } from "../parts/menu";
import { Veil } from "../parts/veil";
import { PAGES } from "../pages";
import { href, place } from "../router";
import { logout } from "../state/access";
import { approvals, link } from "../state/activity";
import { theme, type Theme } from "../state/theme";
import { head } from "./header";
import { help, palette } from "./keys";
import { Nav } from "./nav";

export function Shell({ children }: { children: ComponentChildren }) {
  const [drawer, setDrawer] = useState(false);
  const page = PAGES.find((each) => each.path === place.value.page);
  const title = head.value?.title ?? page?.title ?? "Not found";
  const waiting = approvals.value.length;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} – Long Running Agents`;
  }, [title, waiting]);
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <nav class={drawer ? "rail rail-open" : "rail"} aria-label="Pages">
        <Brand />
        <Nav onGo={() => setDrawer(false)} />
        <div class="rail-foot">
          <Personal />
        </div>
      </nav>
      {drawer && <Veil onClose={() => setDrawer(false)} />}
      <header class="head">
        <span class="head-menu">
          <IconButton icon="menu" label="Menu" aria-expanded={drawer} onClick={() => setDrawer(!drawer)} />
        </span>
        <h1 class="head-title clip">{title}</h1>
        <div class="head-more">{head.value?.more}</div>
        <Waiting />
      </header>
      <Offline />
      <main class="main" id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Brand() {
  return (
    <a class="brand" href={href("chat")} aria-label="Long Running Agents">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M7 21c3.5 0 4-10 8-10s3 10 6 10c2 0 2.6-3 4-3" />
      </svg>
    </a>
  );
}

/** Calls that wait for an answer, wherever they are. */
function Waiting() {
  const [first] = approvals.value;
  if (!first) return null;
  const count = approvals.value.length;
  const words = count === 1 ? "1 approval pending" : `${count} approvals pending`;
  return (
    <a class="head-badge" href={href("chat", first.session_id)} title={words}>
      <Icon name="approvals" />
      <span>{count}</span>
      <span class="unseen">{words}</span>
    </a>
  );
}

function Offline() {
  if (link.value !== "waiting") return null;
  return (
    <div class="offline" role="status">
      <Icon name="spinner" spin />
      The server cannot be reached. Reconnecting…
    </div>
  );
}

const THEMES: readonly { value: Theme; label: string; icon: IconName }[] = [
  { value: "system", label: "System theme", icon: "circle" },
  { value: "light", label: "Light theme", icon: "sun" },
  { value: "dark", label: "Dark theme", icon: "moon" },
];

function Personal() {
  const choices: Choice[] = [
    { label: "Search", icon: "search", note: "Ctrl-K", onChoose: () => (palette.value = true) },
    { label: "Keyboard shortcuts", icon: "keyboard", note: "?", onChoose: () => (help.value = true) },
    ...THEMES.map(({ value, label, icon }) => ({
      label,
      icon,
      checked: theme.value === value,
      onChoose: () => void (theme.value = value),
    })),
    { label: "Sign out", icon: "leave", onChoose: () => void logout() },
  ];
  return (
    <Menu label="Appearance and more" button={<Icon name="more" />} choices={choices} start up buttonClass="button button-quiet button-icon" />
  );
}
