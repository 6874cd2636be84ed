import { describe, expect, it } from "vitest";
import { barsOf, ceilingOf, dayName, daysOf, largest, type Row } from "./books";

const total = (tokens: number) => ({ requests: 1, input_tokens: tokens, output_tokens: 0, total_tokens: tokens, cost: null });
const row = (key: string, input: number, output: number): Row => ({
  key, label: key, link: "", requests: 1, input_tokens: input, output_tokens: output, total_tokens: input + output, cost: null,
});

describe("the books", () => {
  it("show the days on which nothing was spent, too", () => {
    const days = daysOf({
      since: "2026-11-12T23:00:00Z",
      until: "2026-11-16T09:00:00Z",
      by_day: [{ day: "2026-11-14", ...total(7) }],
    });
    expect(days.map((each) => [each.key, each.total_tokens])).toEqual([
      ["2026-11-12", 0], ["2026-11-13", 0], ["2026-11-14", 7], ["2026-11-15", 0], ["2026-11-16", 0],
    ]);
  });

  it("begin with the first day there is when all time is wanted, and go over the end of a month", () => {
    const days = daysOf({ since: null, until: "2026-03-01T00:00:00Z", by_day: [{ day: "2026-02-27", ...total(1) }] });
    expect(days.map((each) => each.key)).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  });

  it("draw the highest bar over the whole height", () => {
    expect(barsOf([row("a", 30, 10), row("b", 10, 10)]).map(({ input, output }) => [input, output])).toEqual([[0.75, 0.25], [0.25, 0.25]]);
    expect(barsOf([row("a", 0, 0)])[0]).toMatchObject({ input: 0, output: 0 });
  });

  it("put the largest first", () => {
    expect(largest([row("a", 1, 0), row("b", 5, 0)]).map((each) => each.key)).toEqual(["b", "a"]);
  });

  it("have a round number at the top", () => {
    expect([0, 3, 12, 51, 100].map(ceilingOf)).toEqual([1, 3, 15, 60, 100]);
  });

  it("name a day without moving it to another zone", () => {
    expect(dayName("2026-11-16")).toBe("16 Nov");
  });
});
