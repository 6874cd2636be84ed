import { expect, test } from "vitest";
import { changeOf } from "./changes";

test("an edit is told by the lines that go and come", () => {
  const input = { path: "a.py", old_text: "one\ntwo\nthree", new_text: "one\n2\nthree" };

  expect(changeOf(input)).toBe("@@ a.py @@\n one\n-two\n+2\n three");
  expect(changeOf({ ...input, replace_all: true })).toContain("@@ a.py (every occurrence) @@");
  expect(changeOf({ path: "a", old_text: "x\nx", new_text: "x" })).toBe("@@ a @@\n x\n-x");
});

test("what is written is told line by line, and whether it replaces what is there", () => {
  expect(changeOf({ path: "a.md", content: "# A\nb" })).toBe("@@ a.md (whole file) @@\n+# A\n+b");
  expect(changeOf({ path: "a.md", content: "b", mode: "append" })).toBe("@@ a.md (append) @@\n+b");
});

test("a diff is told as it is", () => {
  expect(changeOf({ path: "a", diff: "-x\n+y" })).toBe("@@ a @@\n-x\n+y");
});

test("what is not understood is no change, and a name stays in its line", () => {
  expect(changeOf({ path: "a", content: "b", then: "c" })).toBeNull();
  expect(changeOf({ path: "a", content: "b", mode: "truncate" })).toBeNull();
  expect(changeOf({ path: "a", content: "b", old_text: "c" })).toBeNull();
  expect(changeOf({ path: "a", old_text: "b", new_text: "c", diff: "d" })).toBeNull();
  expect(changeOf({ command: "ls" })).toBeNull();
  expect(changeOf({ path: "a @@\n+b", content: "c" })).toBe("@@ a @@\\n+b (whole file) @@\n+c");
});
