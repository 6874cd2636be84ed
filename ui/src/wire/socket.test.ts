import { describe, expect, test } from "vitest";
import { Socket, waitBefore, type Line, type Link } from "./socket";

class FakeLine implements Line {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  sent: string[] = [];
  closed = false;
  constructor(readonly address: string) {}
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.closed = true;
  }
}

class World {
  lines: FakeLine[] = [];
  timers: { work: () => void; wait: number }[] = [];
  heard: unknown[] = [];
  links: Link[] = [];
  last = 0;
  socket = new Socket(
    () => `ws://here/ws/s?after=${this.last}`,
    { heard: (frame) => this.hear(frame), linked: (link) => this.links.push(link) },
    {
      connect: (address) => {
        const line = new FakeLine(address);
        this.lines.push(line);
        return line;
      },
      later: (work, wait) => {
        const timer = { work, wait };
        this.timers.push(timer);
        return () => void (this.timers = this.timers.filter((other) => other !== timer));
      },
      chance: () => 1,
    },
  );

  get line(): FakeLine {
    return this.lines.at(-1)!;
  }

  hear(frame: unknown): void {
    this.heard.push(frame);
    const seq = (frame as { seq?: number }).seq;
    if (seq !== undefined) this.last = seq;
  }

  say(frame: object): void {
    this.line.onmessage?.({ data: JSON.stringify(frame) });
  }

  /** Let the one timer that waits go off. */
  wait(): number {
    const timer = this.timers.shift()!;
    timer.work();
    return timer.wait;
  }
}

describe("a socket", () => {
  test("asks after the last event it heard when it comes back", () => {
    const world = new World();
    world.socket.open();
    world.line.onopen?.();
    world.say({ type: "text", seq: 41 });
    world.line.onclose?.({ code: 1006 });
    world.wait();

    expect(world.lines.map((line) => line.address)).toEqual([
      "ws://here/ws/s?after=0",
      "ws://here/ws/s?after=41",
    ]);
    expect(world.links).toEqual(["connecting", "open", "waiting", "connecting"]);
  });

  test("waits longer each time, and from the beginning after it was let in", () => {
    const world = new World();
    world.socket.open();
    const waits = [0, 1, 2].map(() => {
      world.line.onclose?.({ code: 1006 });
      return world.wait();
    });
    world.line.onopen?.();
    world.line.onclose?.({ code: 1006 });

    expect(waits).toEqual([400, 800, 1600]);
    expect(world.timers.at(-1)?.wait).toBe(400);
    expect(waitBefore(30, 1)).toBe(15_000);
    expect(waitBefore(0, 0)).toBe(200);
  });

  test("says what was said while nobody heard, once and in order", () => {
    const world = new World();
    world.socket.send({ type: "message", content: "one" });
    world.socket.open();
    world.socket.send({ type: "stop" });
    world.line.onopen?.();
    world.line.onclose?.({ code: 1006 });
    world.wait();
    world.line.onopen?.();

    expect(world.lines[0]?.sent).toEqual(['{"type":"message","content":"one"}', '{"type":"stop"}']);
    expect(world.lines[1]?.sent).toEqual([]);
  });

  test("stays closed when it was closed, and hears nothing of an old line", () => {
    const world = new World();
    world.socket.open();
    world.line.onopen?.();
    world.socket.close();
    world.say({ type: "text", seq: 1 });
    world.line.onclose?.({ code: 1000 });

    expect(world.line.closed).toBe(true);
    expect(world.timers).toEqual([]);
    expect(world.heard).toEqual([]);
    expect(world.links.at(-1)).toBe("closed");
  });

  test("keeps the line warm with a ping whose answer nobody hears", () => {
    const world = new World();
    world.socket.open();
    world.line.onopen?.();
    world.wait();
    world.say({ type: "pong" });

    expect(world.line.sent).toEqual(['{"type":"ping"}']);
    expect(world.heard).toEqual([]);
  });
});
