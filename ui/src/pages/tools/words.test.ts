import { describe, expect, it } from "vitest";
import type { SkillResponse, ToolResponse } from "../../wire/responses";
import { byFamily, callsOf, familyName, firstSentence } from "./words";

const tool = (name: string, family: string, description = "") => ({ name, family, description }) as ToolResponse;

describe("tools in words", () => {
  it("puts tools of a family together and finds them by name and description", () => {
    const tools = [tool("a", "web"), tool("b", "files", "Reads a file"), tool("c", "web")];
    expect(byFamily(tools, "").map(([family, own]) => [family, own.length])).toEqual([["web", 2], ["files", 1]]);
    expect(byFamily(tools, "READS").map(([family]) => family)).toEqual(["files"]);
  });

  it("has a name for a family that nobody thought of", () => {
    expect(familyName("bird_songs")).toBe("Bird songs");
  });

  it("says how often a skill was called", () => {
    expect(callsOf({ calls: 0, failures: 0 } as SkillResponse)).toBe("never called");
    expect(callsOf({ calls: 3, failures: 1 } as SkillResponse)).toBe("called 3 times, 1 failed");
  });

  it("takes the first sentence and not the point of a number", () => {
    expect(firstSentence("Doubles 1.5 of it. And more.\nLater")).toBe("Doubles 1.5 of it.");
    expect(firstSentence("No end")).toBe("No end");
  });
});
