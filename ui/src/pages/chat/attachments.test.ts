import { expect, test } from "vitest";
import { freeName, partsOf, withFiles } from "./attachments";

test("a file keeps its name unless there is one of that name", () => {
  expect(freeName("birds.csv", new Set())).toBe("birds.csv");
  expect(freeName("birds.csv", new Set(["birds.csv", "birds-2.csv"]))).toBe("birds-3.csv");
  expect(freeName("../.env", new Set())).toBe("_.env");
  expect(freeName("...", new Set())).toBe("file");
});

test("a message names the files that go with it", () => {
  expect(withFiles("Look", ["uploads/a.csv"])).toBe("Look\n\nAttached files:\n- uploads/a.csv");
  expect(withFiles("", ["uploads/a.csv"])).toBe("Attached files:\n- uploads/a.csv");
  expect(withFiles("Look", [])).toBe("Look");
});

test("the files are found again in what was sent, and nothing else is taken for them", () => {
  const files = ["uploads/a.csv", "uploads/b c.txt"];

  expect(partsOf(withFiles("Look", files))).toEqual({ text: "Look", files });
  expect(partsOf(withFiles("", files))).toEqual({ text: "", files });
  expect(partsOf("Attached files:\n- my thoughts")).toEqual({ text: "Attached files:\n- my thoughts", files: [] });
});
