import { describe, expect, it } from "vitest";
import type { ContextMessage, ContextTool, MessageForm } from "../../wire/responses";
import { leftOut, mannerOf, percent, piecesOf } from "./parts";

const SHARES = { instructions: 100, memories: 0, block: 0, history: 200, prompt: 0, tools: 100, protocol: 0 };

describe("the next request", () => {
  it("is stacked within the model's window, with what is free at the end", () => {
    expect(piecesOf(SHARES, 800).map(({ name, start, length }) => [name, start, length])).toEqual([
      ["instructions", 0, 0.125],
      ["tools", 0.125, 0.125],
      ["history", 0.25, 0.25],
      ["free", 0.5, 0.5],
    ]);
  });

  it("is the whole when the window is not known or is too small", () => {
    expect(piecesOf(SHARES, null).at(-1)?.name).toBe("history");
    expect(piecesOf(SHARES, 10).at(-1)).toMatchObject({ name: "history", start: 0.5, length: 0.5 });
  });

  it("does not round away what is there", () => {
    expect([percent(0), percent(0.001), percent(0.5)]).toEqual(["0 %", "<1 %", "50 %"]);
  });

  it("says how a message is shown, and why", () => {
    expect(mannerOf("whole", "")).toBe("");
    expect(mannerOf("left_out", "window")).toBe("left out, because the model's window is full");
  });

  it("says what is left out", () => {
    const message = (shown: MessageForm): ContextMessage => ({ role: "user", text: "", tokens: 1, shown, reason: "" });
    const tool = (state: ContextTool["state"]): ContextTool => ({ name: "x", kind: "built_in", tokens: 1, state });
    expect(
      leftOut({ history: [message("whole"), message("line"), message("left_out")], tools: [tool("left_out"), tool("offered")], earlier: 2, degraded: "" }),
    ).toEqual([
      "2 messages before these are not looked at.",
      "1 message left out.",
      "1 message shortened.",
      "1 tool not offered.",
    ]);
  });
});
