import { describe, expect, it } from "vitest";
import type { Event } from "../../wire/events";
import { sums, timelineOf } from "./spans";

const BEGAN = Date.parse("2026-11-16T09:00:00Z");
let seq = 0;

function at(milliseconds: number, fields: Record<string, unknown>): Event {
  seq += 1;
  const moment = new Date(BEGAN + milliseconds).toISOString();
  return { seq, session_id: "s", turn_id: "t", at: moment, ...fields } as unknown as Event;
}

const message = (when: number) => at(when, { type: "message", content: "Go", origin: "web" });
const call = (when: number, id: string) => at(when, { type: "tool_call", tool: "shell", tool_call_id: id });
const result = (when: number, id: string, took: number, outcome = "done") =>
  at(when, { type: "tool_result", tool: "shell", tool_call_id: id, duration_ms: took, outcome });
const done = (when: number) => at(when, { type: "done" });

function told(events: readonly Event[], now = 0) {
  return timelineOf(events, BEGAN + now)?.spans.map(({ kind, label, start, end, outcome, open }) =>
    [kind, label, start, end, outcome, open].filter((each) => each !== "" && each !== false),
  );
}

describe("the timeline of a turn", () => {
  it("is nothing without events", () => {
    expect(timelineOf([], 0)).toBeNull();
  });

  it("tells steps and calls apart", () => {
    const events = [message(0), at(40, { type: "recalled" }), call(300, "a"), result(500, "a", 200), at(900, { type: "text" }), done(901)];
    expect(told(events)).toEqual([
      ["recall", "Recalling memories", 0, 40],
      ["model", "Step 1", 40, 300],
      ["call", "shell", 300, 500, "done"],
      ["model", "Step 2", 500, 900],
    ]);
    expect(timelineOf(events, 0)).toMatchObject({ length: 901, ended: "done" });
  });

  it("lets a step that speaks first and calls then be one step", () => {
    const events = [message(0), at(200, { type: "text" }), call(300, "a"), result(400, "a", 40), done(500)];
    expect(told(events)).toEqual([
      ["model", "Step 1", 0, 300],
      ["call", "shell", 360, 400, "done"],
      ["model", "Step 2", 400, 500],
    ]);
  });

  it("asks the model again only when all calls of a step have come back", () => {
    const events = [message(0), call(10, "a"), call(11, "b"), result(30, "a", 20), result(90, "b", 79), done(100)];
    expect(told(events)).toEqual([
      ["model", "Step 1", 0, 10],
      ["call", "shell", 10, 30, "done"],
      ["call", "shell", 11, 90, "done"],
      ["model", "Step 2", 90, 100],
    ]);
    expect(sums(timelineOf(events, 0)!)).toMatchObject({ call: 80, model: 20 });
  });

  it("shows the wait for a person apart from the call that ran after it", () => {
    const events = [
      message(0),
      call(10, "a"),
      at(11, { type: "approval_request", approval_id: "q", tool: "shell", tool_call_id: "a" }),
      at(5000, { type: "approval_resolved", approval_id: "q", tool_call_id: "a", allowed: true }),
      result(5100, "a", 90),
      done(5200),
    ];
    expect(told(events)).toEqual([
      ["model", "Step 1", 0, 10],
      ["wait", "Approval of shell", 11, 5000, "allowed"],
      ["call", "shell", 5010, 5100, "done"],
      ["model", "Step 2", 5100, 5200],
    ]);
  });

  it("goes on until now while it runs", () => {
    expect(told([message(0), call(10, "a")], 700)).toEqual([
      ["model", "Step 1", 0, 10],
      ["call", "shell", 10, 700, true],
    ]);
    expect(told([message(0)], 700)).toEqual([["model", "Step 1", 0, 700, true]]);
  });

  it("shows that it was interrupted, and that it was stopped in a call", () => {
    const events = [message(0), call(10, "a"), at(4000, { type: "resumed", attempt: 1 }), at(4500, { type: "stopped" })];
    expect(told(events)).toEqual([
      ["model", "Step 1", 0, 10],
      ["call", "shell", 10, 4500, "stopped"],
      ["away", "Interrupted, then resumed", 10, 4000],
    ]);
  });

  it("counts the time between a failure and the retry as rest", () => {
    const events = [message(0), at(50, { type: "error" }), at(900, { type: "resumed", attempt: 1 }), done(1000)];
    expect(told(events)).toEqual([
      ["model", "Step 1", 0, 50],
      ["away", "Paused, then resumed", 50, 900],
      ["model", "Step 2", 900, 1000],
    ]);
  });
});
