/** The pages. To add one, add one entry; its chunk is loaded when somebody goes there. */

import type { ComponentType } from "preact";
import type { IconName } from "../parts/icon";

/** A page as the window knows it. */
export interface Page {
  /** The first part of its address. */
  path: string;
  title: string;
  icon: IconName;
  /** Whether it is reached from other pages only, because it needs something to be about. */
  inner?: true;
  /** Its component: the file's default export. */
  load: () => Promise<{ default: ComponentType }>;
}

export const PAGES: readonly Page[] = [
  { path: "chat", title: "Chat", icon: "chat", load: () => import("./chat/chat") },
  { path: "work", title: "Work", icon: "work", load: () => import("./work/work") },
  { path: "agents", title: "Agents", icon: "agent", load: () => import("./agents/agents") },
  { path: "tasks", title: "Tasks", icon: "tasks", load: () => import("./tasks/tasks") },
  { path: "jobs", title: "Jobs", icon: "clock", load: () => import("./jobs/jobs") },
  { path: "memory", title: "Memory", icon: "memory", load: () => import("./memory/memory") },
  { path: "learned", title: "What I learned", icon: "spark", load: () => import("./learned/learned") },
  { path: "tools", title: "Tools & skills", icon: "tools", load: () => import("./tools/tools") },
  { path: "usage", title: "Usage", icon: "usage", load: () => import("./usage/usage") },
  { path: "activity", title: "Activity", icon: "activity", load: () => import("./activity/activity") },
  { path: "files", title: "Files", icon: "files", load: () => import("./files/files") },
  { path: "approvals", title: "Approvals", icon: "approvals", load: () => import("./approvals/approvals") },
  { path: "settings", title: "Settings", icon: "settings", load: () => import("./settings/settings") },
  { path: "context", title: "What the agent sees", icon: "context", inner: true, load: () => import("./context/context") },
];

/** Where somebody lands who names no page. */
export const FIRST = "chat";
