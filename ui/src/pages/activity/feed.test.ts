import { describe, expect, it } from "vitest";
import type { Event } from "../../wire/events";
import { merged, wanted } from "./feed";
import { toldOf } from "./words";

const event = (session: string, seq: number, at: string, fields = {}) =>
  ({ session_id: session, seq, at, turn_id: null, type: "stopped", ...fields }) as unknown as Event;

describe("the feed", () => {
  it("shows what was read and heard once, the newest first", () => {
    const read = [event("a", 2, "2026-11-16T09:00:02Z"), event("a", 1, "2026-11-16T09:00:01Z")];
    const heard = [event("b", 1, "2026-11-16T09:00:03Z"), event("a", 2, "2026-11-16T09:00:02Z")];
    expect(merged(heard, read).map((each) => `${each.session_id}${each.seq}`)).toEqual(["b1", "a2", "a1"]);
  });

  it("keeps the order of a session within one moment", () => {
    const moment = "2026-11-16T09:00:01Z";
    expect(merged([event("a", 1, moment)], [event("a", 2, moment)]).map((each) => each.seq)).toEqual([2, 1]);
  });

  it("knows what is wanted", () => {
    expect(wanted({ type: "error" }, [])).toBe(true);
    expect(wanted({ type: "error" }, ["done"])).toBe(false);
  });

  it("tells an event in words, also one that it does not know", () => {
    expect(toldOf(event("a", 1, "", { type: "tool_result", tool: "shell", success: false, outcome: "denied", result_preview: "" })).what).toBe("shell was denied");
    expect(toldOf(event("a", 1, "", { type: "brand_new" })).what).toBe("brand new");
  });
});
