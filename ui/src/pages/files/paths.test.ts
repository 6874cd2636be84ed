import { expect, test } from "vitest";
import { below, folderOf, languageOf, lookingAt, nameOf, sorted, textOf } from "./paths";

const file = (path: string, folder = false) => ({ path, size: 1, folder });

test("folders stand first, and numbers in names count as numbers", () => {
  const files = [file("a/10.txt"), file("a/2.txt"), file("a/z", true)];

  expect(sorted(files).map((each) => each.path)).toEqual(["a/z", "a/2.txt", "a/10.txt"]);
});

test("a path is taken apart and put together", () => {
  expect([nameOf("a/b.txt"), folderOf("a/b.txt"), folderOf("b.txt")]).toEqual(["b.txt", "a", ""]);
  expect([below("", "b.txt"), below("a", "b.txt")]).toEqual(["b.txt", "a/b.txt"]);
});

test("the name says how a file is looked at", () => {
  expect(["a.PNG", "a.csv", "a.md", "a.py", "Makefile"].map(lookingAt)).toEqual([
    "picture", "table", "markdown", "text", "text",
  ]);
  expect([languageOf("a.py"), languageOf("Makefile")]).toEqual(["python", ""]);
});

test("bytes are a text only when they are one, and a cut may go through a character", () => {
  const heron = new TextEncoder().encode("Fischreiher ü");

  expect(textOf(heron, false)).toBe("Fischreiher ü");
  expect(textOf(heron.subarray(0, -1), true)).toBe("Fischreiher ");
  expect(textOf(heron.subarray(0, -1), false)).toBeNull();
  expect(textOf(new Uint8Array([65, 0, 66]), false)).toBeNull();
});
