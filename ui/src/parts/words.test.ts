import { expect, test } from "vitest";
import { plain } from "./words";

test("the marks of Markdown are left out", () => {
  expect(plain("## Found\n\n> **Two** _herons_ and `one` swan\n| a | b |")).toBe("Found Two herons and one swan a b");
});

test("what is a part of a name stays", () => {
  expect(plain("'read_file' is in agent.tools.require_approval")).toBe("'read_file' is in agent.tools.require_approval");
  expect(plain("C# and a > b")).toBe("C# and a > b");
});
