import { describe, expect, test } from "vitest";
import { criterionWords, findingWords, forecastWords, headline, patchWords, phaseNews } from "./work_words";

describe("a criterion is said in words", () => {
  test.each([
    [{ kind: "file", path: "out.txt" }, "the file out.txt is there"],
    [
      { kind: "file", path: "a.json", min_bytes: 2000, contains: "heron", json_schema: { type: "object" } },
      "the file a.json is there with at least 2,000 bytes and contains “heron” and fits a JSON schema",
    ],
    [
      { kind: "command", command: "pytest -q", matches: "\\d+ passed", contains: "", protects: ["tests"] },
      "the command “pytest -q” ends with 0 and prints what matches /\\d+ passed/, while tests stay as they were",
    ],
    [{ kind: "call", tool: "web_fetch", args: { url: "https://a.example" } }, 'web_fetch was called with {"url":"https://a.example"}'],
    [{ kind: "call", tool: "shell", args: {}, contains: "ok" }, "shell was called and its result contains “ok”"],
    [{ kind: "fetch", url: "https://a.example", status: 204 }, "https://a.example answers 204"],
    [{ kind: "judged", text: "it is polite" }, "a model that sees what was done says: it is polite"],
    [{ kind: "human", text: "it looks right" }, "a person says: it looks right"],
    [{ kind: "human" }, "a person says so"],
  ])("%j", (criterion, words) => {
    expect(criterionWords(criterion)).toBe(words);
  });
});

test("a change of a plan is a line for each part of it", () => {
  const patch = [
    { op: "add", title: "Count", criterion: { kind: "file", path: "n.txt" }, depends_on: [1, 2], paths: ["n.txt"] },
    { op: "change", task: 2, title: "Write it all", estimate: 4 },
    { op: "remove", task: 3 },
  ];

  expect(patchWords(patch, (task) => `task ${task}`)).toEqual([
    "Add “Count”; done when the file n.txt is there; after #1, #2; may write n.txt",
    "Change #2 “task 2”: call it “Write it all”; about 4 steps",
    "Remove #3 “task 3”",
  ]);
});

test("a forecast says nothing of what nobody knows", () => {
  expect(forecastWords({ tasks: 1, steps: [6, 18], tokens: [0, 0], cost: null })).toBe("1 task: 6 to 18 steps");
  expect(forecastWords({ tasks: 2, steps: [12, 36], tokens: [5200, 31000], cost: [0.5, 2] })).toBe(
    "2 tasks: 12 to 36 steps, 5.2k to 31k tokens, $0.50 to $2.00",
  );
});

test("a pause is news in every phase, and a plan that waits speaks for itself", () => {
  expect(phaseNews({ phase: "plan_ready", pause: null, plan_version: 0 })).toBe("");
  expect(phaseNews({ phase: "plan_ready", pause: "question", plan_version: 0 })).toBe("Deep work is paused: it has a question");
  expect(phaseNews({ phase: "executing", pause: null, plan_version: 2 })).toBe("Deep work: plan v2 is carried out");
});

test("what a work tells its turn stands without the mark for the model, and begins in short", () => {
  const mark = "[From the work, not from the user.]";

  expect(headline(`${mark} Go on.`)).toEqual(["Go on.", ""]);
  expect(headline(`${mark} 0 of 1 tasks proven. Next is task #1: Count.\nIt is done when this holds.`)).toEqual([
    "0 of 1 tasks proven. Next is task #1: Count.",
    "It is done when this holds.",
  ]);
  expect(headline(`${mark} Every task is proven. ${"Look. ".repeat(30)}`)[0]).toBe("Every task is proven.");
});

test("findings are counted by their state", () => {
  expect(findingWords(["verified", "refuted", "verified"])).toBe("2 verified, 1 refuted");
});
