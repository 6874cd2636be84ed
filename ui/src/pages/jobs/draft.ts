/** A job as the fields of a form, and back. Pure. */

import type { Job, JobSession, MissedPolicy, NoticeKind, OverlapPolicy } from "../../wire/responses";

/** What is filled in. */
export interface JobForm {
  name: string;
  schedule: string;
  zone: string;
  prompt: string;
  agent: string;
  session_mode: JobSession;
  session_id: string;
  missed: MissedPolicy;
  overlap: OverlapPolicy;
  tokens: string;
  watch: string;
  /** Hours. */
  expect_every: string;
  notify: readonly NoticeKind[];
  deep_work: boolean;
}

const HOUR = 3600;

/** A form in which nothing was filled in yet. */
export const EMPTY: JobForm = {
  name: "",
  schedule: "",
  zone: "",
  prompt: "",
  agent: "",
  session_mode: "own",
  session_id: "",
  missed: "once",
  overlap: "skip",
  tokens: "",
  watch: "",
  expect_every: "",
  notify: ["failure", "silence", "approval"],
  deep_work: false,
};

/** What a job says, filled in. */
export function formOf(job: Job): JobForm {
  const { name, schedule, zone, prompt, agent, session_mode, missed, overlap, watch, notify, deep_work } = job;
  return {
    ...{ name, schedule, zone, prompt, agent, session_mode, missed, overlap, watch, notify, deep_work },
    session_id: job.session_id ?? "",
    tokens: job.limits.tokens === null ? "" : String(job.limits.tokens),
    expect_every: job.expect_every === null ? "" : String(job.expect_every / HOUR),
  };
}

/** What was filled in, as the fields of a job; limits that the form does not show stay as they are. */
export function draftOf(form: JobForm, before: Job | null): Record<string, unknown> {
  const { tokens, ...said } = form;
  return {
    ...said,
    session_id: form.session_mode === "named" ? form.session_id.trim() || null : null,
    limits: { ...before?.limits, tokens: numberOf(tokens) },
    expect_every: hoursOf(form.expect_every),
  };
}

function numberOf(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

function hoursOf(text: string): number | null {
  const hours = numberOf(text);
  return hours === null ? null : hours * HOUR;
}
