import { expect, test } from "vitest";
import { ago, duration } from "./moment";

const NOW = Date.parse("2026-11-16T12:00:00Z");

test.each([
  ["2026-11-16T11:59:30Z", "just now"],
  ["2026-11-16T11:55:00Z", "5 min ago"],
  ["2026-11-16T08:00:00Z", "4 h ago"],
  ["2026-11-01T12:00:00Z", "1 Nov"],
  ["2024-02-03T12:00:00Z", "3 Feb 2024"],
])("%s is %s", (at, told) => {
  expect(ago(at, NOW)).toBe(told);
});

test.each([
  [12, "12 ms"],
  [3400, "3.4 s"],
  [42_000, "42 s"],
  [125_000, "2 min 5 s"],
  [3_900_000, "1 h 5 min"],
])("%d ms is told as %s", (milliseconds, told) => {
  expect(duration(milliseconds)).toBe(told);
});
