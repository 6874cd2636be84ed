/** One session, live: its log is read, then its socket is heard, and both go through the reducer. */

import { computed, signal, type Signal } from "@preact/signals";
import { api, ApiFailure } from "../wire/api";
import { Socket, socketAddress, type Link } from "../wire/socket";
import type { EventList, Mode } from "../wire/responses";
import { overhear } from "./activity";
import { applyAll, type Frame } from "./log";
import { keepUnsent, pending, sessionsWithUnsent, unsentOf, type Sent } from "./unsent";
import { EMPTY, type View } from "./view";

const PAGE = 1000;

/** What the server did not want to do. */
interface Refused {
  type: "error";
  code: string;
  message: string;
  hint: string;
}

/** A session that was named in this tab and in which nothing was said yet: no server knows it. */
const UNSAID = "lra.unsaid";

/** The name of a session that begins with its first message. */
export function newSession(): string {
  const id = madeUp();
  sessionStorage.setItem(UNSAID, id);
  return id;
}

function isUnsaid(id: string): boolean {
  return sessionStorage.getItem(UNSAID) === id;
}

const opened = new Map<string, OpenSession>();

/** The session of that name, which stays open for as long as it has messages to deliver. */
export function sessionOf(id: string, refused: (failure: ApiFailure) => void): OpenSession {
  const session = opened.get(id) ?? new OpenSession(id, refused);
  opened.set(id, session);
  return session;
}

/** Deliver what was sent before this page was loaded. */
export function deliverUnsent(refused: (failure: ApiFailure) => void): void {
  for (const id of sessionsWithUnsent()) {
    const session = sessionOf(id, refused);
    session.enter();
    session.leave();
  }
}

/** A window on a session. */
export class OpenSession {
  readonly view = signal<View>(EMPTY);
  readonly link = signal<Link>("closed");
  /** Whether the log was read. */
  readonly ready = signal(false);
  readonly error = signal<unknown>(null);
  readonly sent: Signal<readonly Sent[]>;
  /** What was refused, to be written in another way; empty once somebody has it. */
  readonly returned = signal("");
  readonly empty = computed(
    () => this.ready.value && this.view.value.entries.length === 0 && this.sent.value.length === 0,
  );

  private readonly socket: Socket;
  private waiting: Frame[] = [];
  private frame = 0;
  private looking = 0;
  private reading = false;
  private deafen: () => void = () => undefined;

  constructor(
    readonly id: string,
    private readonly refused: (failure: ApiFailure) => void,
  ) {
    const path = () => `/ws/${encodeURIComponent(id)}?after=${this.view.peek().last}`;
    this.socket = new Socket(() => socketAddress(path()), {
      heard: (frame) => this.heard(frame as Frame | Refused),
      linked: (link) => (this.link.value = link),
    });
    this.sent = signal(unsentOf(id));
  }

  /** Begin to look; every look ends by leaving. */
  enter(): void {
    this.looking += 1;
    opened.set(this.id, this);
    if (this.link.peek() === "closed") void this.open();
  }

  /** Look no more. */
  leave(): void {
    this.looking -= 1;
    this.closeWhenDone();
  }

  /** Read the log, then listen. */
  async open(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    this.error.value = null;
    this.deafen();
    try {
      const frames = await wholeLog(this.id);
      this.view.value = applyAll(EMPTY, frames);
      this.setSent(pending(this.sent.peek(), frames, this.view.peek().last));
      this.ready.value = true;
      this.socket.open();
      this.closeWhenDone();
    } catch (error) {
      this.error.value = error;
      // Once more when the server is back.
      this.deafen = overhear((heard) => void (heard.type === "catch_up" && this.open()));
    }
    this.reading = false;
  }

  /** Say something; while a turn runs, it queues, or steers that turn. */
  say(content: string, mode: Mode, steer = false, agent: string | null = null): void {
    if (isUnsaid(this.id)) sessionStorage.removeItem(UNSAID);
    const sent: Sent = { key: madeUp(), content, mode, steer, after: this.view.peek().last, ...(agent !== null && { agent }) };
    this.setSent([...this.sent.peek(), sent]);
    this.deliver(sent);
  }

  /** What nobody looks at is closed once everything was delivered and nothing came back. */
  private closeWhenDone(): void {
    if (this.looking > 0 || this.sent.peek().length > 0 || this.returned.peek()) return;
    this.socket.close();
    this.deafen();
    cancelAnimationFrame(this.frame);
    opened.delete(this.id);
  }

  private setSent(sent: readonly Sent[]): void {
    this.sent.value = sent;
    keepUnsent(this.id, sent);
  }

  /** The same key twice is one message, so that sending again after a lost line does no harm. */
  private deliver({ key, content, mode, steer = false, agent }: Sent): void {
    this.socket.send({ type: "message", content, key, mode, steer, agent });
  }

  /** Stop the turn that runs, waits or is next in line. */
  stop(): void {
    this.socket.send({ type: "stop" });
  }

  /** Let the last turn go on from where it ended. */
  retry(): void {
    this.socket.send({ type: "retry" });
  }

  /** Answer a question. */
  answer(approval: string, allowed: boolean, lasting: string, reason: string): void {
    this.socket.send({ type: "approval_response", approval_id: approval, allowed, lasting, reason });
  }

  private heard(frame: Frame | Refused): void {
    if (isRefused(frame)) {
      this.refusedBy(frame);
      return;
    }
    // What was said into a line that was already dead is said again.
    if (frame.type === "connected") for (const sent of this.sent.peek()) this.deliver(sent);
    this.waiting.push(frame);
    // However many words come, the page is drawn once for each picture of the screen. A window that
    // nobody sees has no pictures, and must not fall behind either.
    if (document.hidden) this.take();
    else this.frame ||= requestAnimationFrame(() => this.take());
  }

  private take(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const frames = this.waiting;
    this.waiting = [];
    const view = applyAll(this.view.peek(), frames);
    this.view.value = view;
    const left = pending(this.sent.peek(), frames, view.last);
    if (left.length < this.sent.peek().length) this.setSent(left);
    this.closeWhenDone();
  }

  private refusedBy(frame: Refused): void {
    this.returned.value = this.sent.value.map((sent) => sent.content).join("\n\n");
    this.setSent([]);
    this.refused(new ApiFailure(frame.code, frame.message, frame.hint, 0));
  }
}

function isRefused(frame: Frame | Refused): frame is Refused {
  return frame.type === "error" && !("seq" in frame);
}

/** The log of a session as it is; nothing for one that has not begun. */
async function wholeLog(id: string): Promise<Frame[]> {
  if (isUnsaid(id)) return [];
  const ask = (after: number) =>
    api.get<EventList>(`/api/sessions/${encodeURIComponent(id)}/events`, { after, limit: PAGE });
  try {
    const first = await ask(0);
    // Numbers grow by one, so that the beginning of every page is known.
    const begins: number[] = [];
    for (let after = first.last_seq; after < first.newest_seq; after += PAGE) begins.push(after);
    const rest = await Promise.all(begins.map(ask));
    return [first, ...rest].flatMap((page) => page.events);
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 404) return [];
    throw error;
  }
}

/** A name that nothing else has. */
export function madeUp(): string {
  // Not crypto.randomUUID: over plain HTTP from another machine there is none.
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
