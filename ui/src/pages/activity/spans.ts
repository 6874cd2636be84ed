/** A turn's timeline: what took how long, found in its events. Pure. */

import type { Event } from "../../wire/events";

export type SpanKind = "model" | "recall" | "call" | "wait" | "away";

/** Something that took time. */
export interface Span {
  key: string;
  kind: SpanKind;
  label: string;
  /** Milliseconds since the turn began. */
  start: number;
  end: number;
  /** How it came out; empty while it goes on, and for what can only end well. */
  outcome: string;
  /** Whether it has not ended yet. */
  open: boolean;
}

/** A turn, as its spans tell it. */
export interface Timeline {
  began: string;
  /** Milliseconds. */
  length: number;
  /** The event that ended it; empty while it runs. */
  ended: string;
  spans: Span[];
}

const ENDS: ReadonlySet<string> = new Set(["done", "stopped", "limit", "error"]);

/** What happened in one turn.
 *
 * @param events The turn's events, in order; those of other turns are not among them.
 * @param now Milliseconds; what goes on still goes on until then.
 */
export function timelineOf(events: readonly Event[], now: number): Timeline | null {
  const [first] = events;
  if (!first) return null;
  const builder = new Builder(Date.parse(first.at), first.at);
  for (const event of events) builder.hear(event);
  return builder.finished(now);
}

class Builder {
  private readonly spans: Span[] = [];
  private readonly running = new Map<string, Span>();
  /** Since when the model is asked; null while something else goes on. */
  private asked: number | null = 0;
  private steps = 0;
  /** The step whose words were heard, and which may still go on to call something. */
  private spoke: Span | null = null;
  private ended = "";
  private last = 0;

  constructor(
    private readonly origin: number,
    private readonly began: string,
  ) {}

  hear(event: Event): void {
    const at = Math.max(this.last, Date.parse(event.at) - this.origin);
    this.act(event, at);
    this.last = at;
    if (ENDS.has(event.type)) this.end(event.type, at);
  }

  finished(now: number): Timeline {
    const until = this.ended ? this.last : Math.max(this.last, now - this.origin);
    if (!this.ended && this.asked !== null) this.model(until, true);
    for (const span of this.running.values()) if (!this.ended) Object.assign(span, { end: until, open: true });
    this.spans.sort((one, other) => one.start - other.start);
    return { began: this.began, length: Math.max(until, 1), ended: this.ended, spans: this.spans };
  }

  private act(event: Event, at: number): void {
    switch (event.type) {
      case "recalled":
        if (this.asked !== null) this.add("recall", "Recalling memories", this.asked, at);
        this.asked = at;
        break;
      case "resumed":
        for (const span of this.running.values()) span.end = Math.max(span.start, this.last);
        this.add("away", this.ended ? "Paused, then resumed" : "Interrupted, then resumed", this.last, at);
        this.ended = "";
        this.asked = this.running.size > 0 ? null : at;
        break;
      case "text":
        if (this.asked !== null) this.spoke = this.model(at);
        break;
      case "tool_call":
        if (this.asked !== null) this.model(at);
        else if (this.spoke) this.spoke.end = at;
        this.asked = null;
        this.spoke = null;
        this.begin(event.tool_call_id, "call", event.tool, at);
        break;
      case "approval_request":
        this.begin(`ask ${event.approval_id}`, "wait", `Approval of ${event.tool}`, at);
        break;
      case "approval_resolved":
        this.close(`ask ${event.approval_id}`, at, event.allowed ? "allowed" : "denied");
        break;
      case "delegate_started":
        // The links of a chain are no calls, and no model is asked beside them.
        this.asked = null;
        if (!event.background) this.begin(`delegate ${event.delegate_id}`, "call", event.agent, at);
        break;
      case "delegate_done":
        this.close(`delegate ${event.delegate_id}`, at, event.status);
        break;
      case "client_call":
        this.begin(`client ${event.tool_call_id}`, "wait", `Client runs ${event.tool}`, at);
        break;
      case "tool_result":
        this.close(`client ${event.tool_call_id}`, at, event.outcome);
        this.returned(event.tool_call_id, event.duration_ms, event.outcome, at);
        break;
      default:
        break;
    }
  }

  /** A call that waited has run only at the end of its time. */
  private returned(call: string, took: number, outcome: string, at: number): void {
    const span = this.running.get(call);
    this.close(call, at, outcome);
    if (span) span.start = Math.max(span.start, Math.min(at, at - took));
    if (this.running.size === 0) this.asked = at;
  }

  private model(at: number, open = false): Span {
    this.steps += 1;
    const span = this.add("model", `Step ${this.steps}`, this.asked ?? at, at, open);
    this.asked = null;
    return span;
  }

  private end(type: string, at: number): void {
    if (this.asked !== null && at > this.asked) this.model(at);
    for (const span of this.running.values()) Object.assign(span, { end: at, open: false, outcome: type });
    this.running.clear();
    this.asked = null;
    this.spoke = null;
    this.ended = type;
  }

  private begin(key: string, kind: SpanKind, label: string, at: number): void {
    const span = this.add(kind, label, at, at, true);
    this.running.set(key, span);
  }

  private close(key: string, at: number, outcome: string): void {
    const span = this.running.get(key);
    if (!span) return;
    Object.assign(span, { end: at, outcome, open: false });
    this.running.delete(key);
  }

  private add(kind: SpanKind, label: string, start: number, end: number, open = false): Span {
    const span: Span = { key: String(this.spans.length), kind, label, start, end, outcome: "", open };
    this.spans.push(span);
    return span;
  }
}

/** How long each kind took in all; what overlaps is counted once. */
export function sums(timeline: Timeline): Record<SpanKind, number> {
  const found: Record<SpanKind, number> = { model: 0, recall: 0, call: 0, wait: 0, away: 0 };
  for (const kind of Object.keys(found) as SpanKind[]) {
    let reached = 0;
    for (const span of timeline.spans) {
      if (span.kind !== kind) continue;
      found[kind] += Math.max(0, span.end - Math.max(span.start, reached));
      reached = Math.max(reached, span.end);
    }
  }
  return found;
}
