import { expect, test } from "vitest";
import { bytes, money, tokens } from "./amount";

test("amounts are as long as they need to be", () => {
  expect([tokens(812), tokens(5200), tokens(31_000), tokens(1_300_000)]).toEqual(["812", "5.2k", "31k", "1.3M"]);
  expect([money(0), money(0.0019), money(1.5)]).toEqual(["$0", "$0.0019", "$1.50"]);
  expect([bytes(120), bytes(4100), bytes(3_000_000)]).toEqual(["120 B", "4.1 kB", "3 MB"]);
});
