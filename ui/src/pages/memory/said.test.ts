import { expect, test } from "vitest";
import { ApiFailure } from "../../wire/api";
import { similarIn, statsWords, whyWords } from "./said";

test("the parts of a search are told, the most first, and none that gave nothing", () => {
  expect(whyWords({ recent: 0.1, meaning: 0.5, cosine: -0.07, telling: 0.2 })).toBe("meaning 0.50, recent 0.10");
});

test("how much is remembered is one line", () => {
  const stats = { embedder: null, counts: { fact: 2, note: 0, lesson: 1 }, spaces: {}, missing: 0, trash: 4 };

  expect(statsWords(stats)).toBe(
    "3 memories (fact 2, lesson 1); keyword search only, since no embedding model is set; 4 forgotten, can be restored.",
  );
});

test("only a refusal that names similar memories brings them along", () => {
  const similar = new ApiFailure("similar", "Not written", "", 409, { memories: [{ id: 3 }] });

  expect(similarIn(similar)).toEqual([{ id: 3 }]);
  expect(similarIn(new ApiFailure("refused", "Not written", "", 422, {}))).toBeNull();
  expect(similarIn(new Error("broken"))).toBeNull();
});
