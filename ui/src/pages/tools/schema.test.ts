import { describe, expect, it } from "vitest";
import { argumentsOf, controlOf, filledIn, inWords } from "./schema";
import type { Schema } from "./shapes";

const SCHEMA: Schema = {
  type: "object",
  required: ["query", "limit"],
  properties: {
    query: { type: "string", description: "What to look for." },
    limit: { type: "integer", minimum: 1, maximum: 50, default: 5 },
    tags: { type: "array", items: { type: "string" } },
    mode: { enum: ["a", "b"] },
    deep: { anyOf: [{ type: "boolean" }, { type: "null" }], default: null },
    rule: { $ref: "#/$defs/Rule" },
  },
  $defs: { Rule: { type: "object" }, Round: { $ref: "#/$defs/Round" } },
};

describe("a schema in words", () => {
  it("names each argument, what it may be and what it is by itself", () => {
    expect(argumentsOf(SCHEMA).map(({ name, kind, usual }) => [name, kind, usual])).toEqual([
      ["query", "text", ""],
      ["limit", "whole number from 1 to 50", "5"],
      ["tags", "list of texts", ""],
      ["mode", "one of a, b", ""],
      ["deep", "yes or no or nothing", ""],
      ["rule", "object", ""],
    ]);
  });

  it("does not go round in circles", () => {
    expect(inWords({ $ref: "#/$defs/Round" }, SCHEMA)).toBe("anything");
  });
});

describe("a form made of a schema", () => {
  it("has the control that suits", () => {
    const controls = Object.values(SCHEMA.properties ?? {}).map((own) => controlOf(own, SCHEMA).control);
    expect(controls).toEqual(["text", "number", "json", "choice", "flag", "json"]);
  });

  it("reads what was filled in, and leaves out what was not", () => {
    const { args, wrong } = filledIn(SCHEMA, { query: "heron", limit: "3", tags: '["x"]', deep: "false" });
    expect(args).toEqual({ query: "heron", limit: 3, tags: ["x"], deep: false });
    expect(wrong).toEqual({});
  });

  it("says what is wrong with a field", () => {
    const { wrong } = filledIn(SCHEMA, { limit: '"3"', tags: "[x" });
    expect(wrong).toEqual({ limit: "This is not a number.", tags: "This is not JSON." });
    expect(filledIn(SCHEMA, {}).wrong).toEqual({ limit: "This is needed." });
  });
});
