/** One WebSocket that stays: it reconnects, waits longer each time, and asks for what was missed. */

/** Whether words come through. */
export type Link = "connecting" | "open" | "waiting" | "closed";

/** The little of a WebSocket that is needed, so that tests can bring their own. */
export interface Line {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
  send(text: string): void;
  close(): void;
}

/** What a socket needs from its surroundings. */
export interface Surroundings {
  connect(address: string): Line;
  later(work: () => void, milliseconds: number): () => void;
  /** A number from 0 to 1: many windows do not all come back in the same moment. */
  chance(): number;
}

/** What is done with what comes. */
export interface Hearing {
  heard(frame: unknown): void;
  linked(link: Link): void;
}

const FIRST_WAIT = 400;
const LONGEST_WAIT = 15_000;
const PING_EVERY = 25_000;

/** How long to wait before the next attempt: doubling, with some chance. */
export function waitBefore(attempt: number, chance: number): number {
  const whole = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt);
  return whole / 2 + (whole / 2) * chance;
}

/** A socket to an address; `after` adds the last number that was heard. */
export class Socket {
  private line: Line | null = null;
  private attempt = 0;
  private cancelWait: () => void = () => undefined;
  private cancelPing: () => void = () => undefined;
  private link: Link = "closed";
  private outbox: string[] = [];

  constructor(
    private readonly address: () => string,
    private readonly hearing: Hearing,
    private readonly surroundings: Surroundings = browser,
  ) {}

  /** Connect now, whatever was waited for. */
  open(): void {
    this.cancelWait();
    if (this.line) return;
    this.become("connecting");
    const line = this.surroundings.connect(this.address());
    this.line = line;
    line.onopen = () => this.opened(line);
    line.onmessage = (event) => this.received(line, event.data);
    line.onclose = () => this.lost(line);
  }

  /** Say something; what is said while nobody hears is said as soon as somebody does. */
  send(frame: object): void {
    const text = JSON.stringify(frame);
    if (this.line && this.link === "open") this.line.send(text);
    else this.outbox.push(text);
  }

  /** Leave for good. */
  close(): void {
    this.cancelWait();
    this.cancelPing();
    const line = this.line;
    this.line = null;
    this.become("closed");
    line?.close();
  }

  private opened(line: Line): void {
    if (line !== this.line) return;
    this.attempt = 0;
    this.become("open");
    for (const text of this.outbox.splice(0)) line.send(text);
    this.pingLater();
  }

  private received(line: Line, data: unknown): void {
    if (line !== this.line || typeof data !== "string") return;
    const frame: unknown = JSON.parse(data);
    if (!isPong(frame)) this.hearing.heard(frame);
  }

  private lost(line: Line): void {
    if (line !== this.line) return;
    this.line = null;
    this.cancelPing();
    this.become("waiting");
    const wait = waitBefore(this.attempt, this.surroundings.chance());
    this.attempt += 1;
    this.cancelWait = this.surroundings.later(() => this.open(), wait);
  }

  private pingLater(): void {
    // A proxy between us may forget a line on which nothing is said.
    this.cancelPing = this.surroundings.later(() => {
      this.line?.send('{"type":"ping"}');
      this.pingLater();
    }, PING_EVERY);
  }

  private become(link: Link): void {
    if (link === this.link) return;
    this.link = link;
    this.hearing.linked(link);
  }
}

function isPong(frame: unknown): boolean {
  return typeof frame === "object" && frame !== null && "type" in frame && frame.type === "pong";
}

/** The address of a WebSocket on the server that this page came from. */
export function socketAddress(path: string): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}${path}`;
}

const browser: Surroundings = {
  connect: (address) => new WebSocket(address) as unknown as Line,
  later: (work, milliseconds) => {
    const timer = setTimeout(work, milliseconds);
    return () => clearTimeout(timer);
  },
  chance: Math.random,
};
