import { expect, test } from "vitest";
import { brief, spelled } from "./brief";
import { picturesIn } from "./pictures";
import { gridOf } from "./tables";

test("a call is told by its one value, or by each with its name", () => {
  expect(brief({ command: "ls\n -la" })).toBe("ls -la");
  expect(brief({ path: "a.txt", depth: 2, note: null })).toBe("path: a.txt, depth: 2");
  expect(brief({})).toBe("");
  expect(brief("x".repeat(500))).toHaveLength(160);
});

test("a change is told by its file", () => {
  expect(brief({ path: "a.py", old_text: "x", new_text: "y" })).toBe("a.py");
  expect(brief({ path: "a.py", start: 3 })).toBe("path: a.py, start: 3");
});

test("code and commands are spelled as what they are", () => {
  expect(spelled({ code: "print(1)" })).toEqual({ text: "print(1)", language: "python" });
  expect(spelled({ command: "ls" })).toEqual({ text: "ls", language: "bash" });
  expect(spelled({ a: 1 })).toEqual({ text: '{\n  "a": 1\n}', language: "json" });
});

test("pictures of the workspace are found, each once, and none of the web", () => {
  expect(picturesIn("Saved out/plot.png and /workspace/out/plot.png, then ./b.svg.")).toEqual(["out/plot.png", "b.svg"]);
  expect(picturesIn("see https://example.org/x.png")).toEqual([]);
  expect(picturesIn("../../etc/x.png")).toEqual([]);
});

test.each([
  ["name,age\nAda,36\nBob,4", [["Ada", "36"], ["Bob", "4"]]],
  ["a\tb\n1\t2", [["1", "2"]]],
  ["name;place\n\"Li; na\";Rome", [["Li; na", "Rome"]]],
  ["| a | b |\n|---|---|\n| 1 | 2 |", [["1", "2"]]],
  ['[{"a": 1, "b": null}]', [["1", ""]]],
])("a table is seen in %j", (text, rows) => {
  expect(gridOf(text)?.rows).toEqual(rows);
});

test.each([
  "Just a sentence, with a comma.\nAnd another, like it.",
  "one line",
  "a,b\n1,2,3",
  "[1, 2, 3]",
  '[{"a": {"b": 1}, "c": 2}]',
  "[broken",
])("no table is seen in %j", (text) => {
  expect(gridOf(text)).toBeNull();
});
