/** What the server tells over HTTP, as far as several pages need it; /openapi.json has the rest. */

import type { Event, Json } from "./events";

/** A session as a list shows it. */
export interface SessionTold {
  id: string;
  title: string;
  mode: string;
  model: string | null;
  created_at: string;
  updated_at: string;
  turns: number;
  preview: string;
  forked_from: string | null;
}

/** Sessions, the latest first. */
export interface SessionList {
  sessions: SessionTold[];
  total: number;
  next: number | null;
}

/** A session's events after a number, in order. */
export interface EventList {
  events: Event[];
  last_seq: number;
  newest_seq: number;
  more: boolean;
}

/** A model that can be asked, or could be. */
export interface ModelTold {
  name: string;
  source: string;
  current: boolean;
  context_window: number | null;
  installed: boolean;
  note: string;
}

/** Models, and the one that answers. */
export interface ModelList {
  current: string;
  models: ModelTold[];
}

/** The question whether a call may run. */
export interface ApprovalTold {
  id: string;
  session_id: string;
  turn_id: string;
  tool_call_id: string;
  tool: string;
  input: Json;
  question: string;
  state: string;
  reason: string;
  scope: string;
  lasting: string;
  asked_at: string;
  answered_at: string | null;
  expires_at: string | null;
}

/** What the server is and does. */
export interface StatusTold {
  status: string;
  version: string;
  agent: string;
  model: string;
  started_at: string;
  uptime_seconds: number;
  sessions: number;
  busy: number;
}

/** A file or folder of the workspace. */
export interface FileTold {
  path: string;
  size: number;
  folder: boolean;
}

/** What is in a folder. */
export interface FileList {
  path: string;
  files: FileTold[];
  /** Whether there is more than is told. */
  truncated: boolean;
}

/** A piece of work of a session. */
export interface TaskTold {
  session_id: string;
  number: number;
  title: string;
  description: string;
  status: string;
  parent: number | null;
  result: string;
  created_at: string;
  updated_at: string;
}
