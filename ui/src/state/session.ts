/** One session, live: its log is read, then its socket is heard, and both go through the reducer. */

import { computed, signal } from "@preact/signals";
import { api, ApiFailure } from "../wire/api";
import type { EventList } from "../wire/shapes";
import { Socket, socketAddress, type Link } from "../wire/socket";
import { applyAll, type Frame } from "./log";
import { EMPTY, type View } from "./view";

const PAGE = 1000;

/** A message that was sent and is not in the log yet. */
export interface Sent {
  key: string;
  content: string;
}

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

/** A window on a session; to be closed when nobody looks any more. */
export class OpenSession {
  readonly view = signal<View>(EMPTY);
  readonly link = signal<Link>("closed");
  /** Whether the log was read. */
  readonly ready = signal(false);
  readonly error = signal<unknown>(null);
  readonly sent = signal<readonly Sent[]>([]);
  /** What was refused, to be written in another way; empty once somebody has it. */
  readonly returned = signal("");
  readonly empty = computed(
    () => this.ready.value && this.view.value.entries.length === 0 && this.sent.value.length === 0,
  );

  private readonly socket: Socket;
  private waiting: Frame[] = [];
  private frame = 0;
  private closed = false;

  constructor(
    readonly id: string,
    private readonly refused: (failure: ApiFailure) => void,
  ) {
    const path = () => `/ws/${encodeURIComponent(id)}?after=${this.view.peek().last}`;
    this.socket = new Socket(() => socketAddress(path()), {
      heard: (frame) => this.heard(frame as Frame | Refused),
      linked: (link) => (this.link.value = link),
    });
  }

  /** Read the log, then listen. */
  async open(): Promise<void> {
    this.error.value = null;
    try {
      const view = applyAll(EMPTY, await wholeLog(this.id));
      if (this.closed) return;
      this.view.value = view;
      this.ready.value = true;
      this.socket.open();
    } catch (error) {
      if (!this.closed) this.error.value = error;
    }
  }

  /** Leave. */
  close(): void {
    this.closed = true;
    this.socket.close();
    cancelAnimationFrame(this.frame);
  }

  /** Say something; it queues while a turn runs. */
  say(content: string): void {
    if (isUnsaid(this.id)) sessionStorage.removeItem(UNSAID);
    const key = madeUp();
    this.sent.value = [...this.sent.value, { key, content }];
    this.deliver({ key, content });
  }

  /** The same key twice is one message, so that sending again after a lost line does no harm. */
  private deliver({ key, content }: Sent): void {
    this.socket.send({ type: "message", content, key });
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
    for (const frame of frames) if (frame.type === "message") this.accepted(frame.content);
  }

  private accepted(content: string): void {
    const at = this.sent.value.findIndex((sent) => sent.content === content);
    if (at >= 0) this.sent.value = this.sent.value.toSpliced(at, 1);
  }

  private refusedBy(frame: Refused): void {
    this.returned.value = this.sent.value.map((sent) => sent.content).join("\n\n");
    this.sent.value = [];
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
function madeUp(): string {
  // Not crypto.randomUUID: over plain HTTP from another machine there is none.
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
