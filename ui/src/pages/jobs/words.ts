/** Jobs and what became of their moments, in words. Pure. */

import { money, tokens } from "../../parts/amount";
import { amountOf, limitWords } from "../../parts/budget";
import { spent } from "../../parts/chain";
import type { Fact } from "../../parts/facts";
import type { Tone } from "../../parts/tag";
import type { FiringOutcome, FiringResponse, Job, JobResponse, JobSession, JobState, MissedPolicy, NoticeKind, OverlapPolicy, TurnStatus } from "../../wire/responses";

/** How the states of a job look. */
export const STATES: Readonly<Record<JobState, Tone>> = { active: "good", paused: "warn", proposed: "accent" };

export const SESSIONS: Readonly<Record<JobSession, string>> = {
  own: "its own, shown only the last result",
  new: "a new one for each run",
  named: "one of yours",
};

export const MISSED: Readonly<Record<MissedPolicy, string>> = {
  once: "the newest one runs",
  all: "each of them runs",
  skip: "none of them runs",
};

export const OVERLAPS: Readonly<Record<OverlapPolicy, string>> = {
  skip: "the moment is left out",
  queue: "it runs afterwards",
  parallel: "it runs side by side",
};

export const NOTICES: Readonly<Record<NoticeKind, string>> = {
  result: "each result",
  failure: "a failed or blocked run",
  silence: "no run for longer than expected",
  approval: "a run that waits for an answer",
};

/** Choices of a form, of names and their words. */
export function optionsOf<Name extends string>(words: Readonly<Record<Name, string>>): { value: Name; label: string }[] {
  return (Object.keys(words) as Name[]).map((value) => ({ value, label: capital(words[value]) }));
}

function capital(words: string): string {
  return words[0]!.toUpperCase() + words.slice(1);
}

const SHAPE: Intl.DateTimeFormatOptions = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" };

/** A moment that comes with its offset, as the clocks there show it: "Sun 25 Oct 2026, 02:30 +02:00". */
export function clockWords(at: string): string {
  const [, wall = at, offset = ""] = /^(.+?)(Z|[+-]\d\d:\d\d)$/.exec(at) ?? [];
  const words = new Date(`${wall}Z`).toLocaleString("en-GB", { ...SHAPE, timeZone: "UTC" });
  return `${words.replace(/^(\w+), /, "$1 ")} ${offset === "Z" ? "+00:00" : offset}`.trim();
}

/** A moment as the clocks of a zone show it, with the offset; in UTC where a browser does not know the zone. */
export function zoneWords(at: string, zone: string): string {
  try {
    const shape = { ...SHAPE, timeZone: zone, timeZoneName: "longOffset" } as const;
    const words = new Date(at).toLocaleString("en-GB", shape);
    return words.replace(/^(\w+), /, "$1 ").replace(/GMT$/, "+00:00").replace("GMT", "");
  } catch {
    return clockWords(new Date(at).toISOString());
  }
}

/** When a job fires next, in its own zone; why not, if it does not. */
export function nextWords({ job, schedule }: JobResponse): string {
  const [next] = schedule.next_times;
  if (job.state === "proposed") return "waits for your answer";
  if (job.state === "paused") return job.note || "paused";
  return next ? clockWords(next) : "no planned time";
}

/** What became of a moment, and in which colour. */
export interface Came {
  words: string;
  tone: Tone | undefined;
}

const OUTCOMES: Readonly<Record<Exclude<FiringOutcome, "ran" | "changed">, Came>> = {
  skipped: { words: "skipped", tone: undefined },
  missed: { words: "missed", tone: "warn" },
  overlap: { words: "overlap", tone: "warn" },
  blocked: { words: "blocked", tone: "bad" },
};

const TONES: Readonly<Partial<Record<TurnStatus, Tone>>> = { done: "good", failed: "bad", limited: "warn", waiting: "warn", running: "accent", delegating: "accent" };

/** What became of a moment: why nothing ran, or how the run stands. */
export function cameOf({ firing, status }: FiringResponse): Came {
  const { outcome } = firing;
  if (outcome !== "ran" && outcome !== "changed") return OUTCOMES[outcome];
  const words = status === "waiting" ? "waiting for an answer" : (status ?? "ran");
  return { words: outcome === "changed" ? `changed, ${words}` : words, tone: status ? TONES[status] : undefined };
}

/** What a run took; empty when nothing ran. */
export function tookWords({ firing, tokens: count, cost, seconds }: FiringResponse): string {
  if (!firing.turn_id) return "";
  return [`${tokens(count)} tokens`, cost ? money(cost) : "", seconds ? spent(seconds) : ""].filter(Boolean).join(" · ");
}

/** How a job works: what a person looks at before it is accepted. */
export function termsOf(job: Job, hooks: string): Fact[] {
  const facts: Fact[] = [["Agent", job.agent || "the default agent"]];
  if (job.deep_work) facts.push(["Deep work", "each run"]);
  if (job.watch) facts.push(["Watches", `${job.watch}; runs only when it has changed`]);
  if (job.schedule.startsWith("webhook")) facts.push(["Webhook", `POST ${hooks}/hooks/${job.id}, signed with the secret of “lra jobs hook ${job.id}”, or with a token of scope hook:${job.id}`]);
  facts.push(["Session", job.session_id ?? SESSIONS[job.session_mode]]);
  const oldest = job.max_age === null ? "" : `, unless it is older than ${amountOf("seconds", job.max_age)}`;
  facts.push(["Missed moments", MISSED[job.missed] + oldest], ["While a run goes on", OVERLAPS[job.overlap]]);
  if (job.jitter > 0) facts.push(["Spread", `up to ${amountOf("seconds", job.jitter)} late`]);
  facts.push(["Budget of a run", limitWords(job.limits) || "the usual one"]);
  if (job.expect_every !== null) facts.push(["Expected", `a finished run every ${amountOf("seconds", job.expect_every)}`]);
  facts.push(["Tells", job.notify.map((kind) => NOTICES[kind]).join("; ") || "nothing"]);
  facts.push(["Made by", { person: "a person", agent: "the agent" }[job.created_by] ?? job.created_by]);
  return facts;
}
