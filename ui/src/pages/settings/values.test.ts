import { describe, expect, it } from "vitest";
import type { SettingResponse } from "../../wire/responses";
import { read, sections, shown } from "./values";

const setting = (key: string, origin = "default", pending: SettingResponse["pending"] = null): SettingResponse => ({
  key, origin, pending, value: 1, description: `About ${key}`, changeable: true,
});

describe("settings", () => {
  it("are read as what they were before", () => {
    expect(read("20", 10)).toBe(20);
    expect(read("20", "ten")).toBe("20");
    expect(read("true", null)).toBe(true);
    expect(read("warm", null)).toBe("warm");
    expect(read("  ", 5)).toBeNull();
  });

  it("are shown without quotes", () => {
    expect([shown("a"), shown(null), shown([1]), shown(false)]).toEqual(["a", "", "[1]", "false"]);
  });

  it("stand in sections, and can be searched", () => {
    const all = [setting("agent.name"), setting("agent.model.name"), setting("memory.top_k", "env")];
    expect(sections(all, "", false).map(([name]) => name)).toEqual(["agent", "agent.model", "memory"]);
    expect(sections(all, "TOP", false).map(([name]) => name)).toEqual(["memory"]);
    expect(sections(all, "", true).map(([name]) => name)).toEqual(["memory"]);
  });

  it("count as changed when they wait for a restart", () => {
    expect(sections([setting("a.b", "default", 4)], "", true)).toHaveLength(1);
  });
});
