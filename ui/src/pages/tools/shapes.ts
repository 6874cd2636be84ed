/** Tools and skills as the server tells them. */

import type { Json } from "../../wire/events";

/** A JSON schema, as far as it is read here. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: Json[];
  const?: Json;
  anyOf?: Schema[];
  default?: Json;
  minimum?: number;
  maximum?: number;
  $ref?: string;
  $defs?: Record<string, Schema>;
}

export interface ToolTold {
  name: string;
  kind: "built_in" | "skill";
  family: string;
  description: string;
  parameters: Schema;
  effect: "read" | "idempotent" | "once";
  powers: string[];
  foreign: boolean;
  enabled: boolean;
  approval: "never" | "sometimes" | "always";
}

export interface SkillTold {
  name: string;
  kind: string;
  state: "enabled" | "disabled" | "proposed";
  enabled: boolean;
  version: number | null;
  newest: number;
  proposed: number | null;
  description: string;
  created_at: string;
  updated_at: string;
  calls: number;
  failures: number;
  failures_in_a_row: number;
  used_at: string | null;
  note: string;
}

export interface SkillList {
  skills: SkillTold[];
  total: number;
  waiting: number;
  next: number | null;
}

export interface Finding {
  message: string;
  repair: string;
  /** 0 when it is about the whole. */
  line: number;
  severity: string;
}

export interface Interface {
  function: string;
  description: string;
  parameters: Schema;
  returns: Schema | null;
  is_async: boolean;
  context: string;
}

export interface Attempt {
  args: Record<string, Json>;
  shown: string;
  error: string;
  derived: boolean;
  duration_ms: number;
  memory: number;
}

export interface Trial {
  at: string;
  passed: boolean;
  reason: string;
  attempts: Attempt[];
}

export interface Reviewed {
  ok: boolean;
  name: string;
  findings: Finding[];
  interface: Interface | null;
  trial: Trial | null;
}

export interface Version {
  name: string;
  number: number;
  kind: string;
  digest: string;
  source: string;
  interface: Interface;
  limits: { timeout: number; memory: number };
  safe_mode: boolean;
  allowed_imports: string[];
  files: { path: string; content: string }[];
  label: string;
  brought: { origin: string; session_id: string | null };
  created_at: string;
  warnings: Finding[];
  trial: Trial;
  standing: string;
  decided_by: string;
  decided_at: string | null;
}

export interface VersionList {
  versions: Version[];
  total: number;
  next: number | null;
}

export interface Problem {
  path: string;
  error: string;
  seen_at: string;
}
