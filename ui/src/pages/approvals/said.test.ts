import { expect, test } from "vitest";
import { argumentsOf, decider, decisionLook } from "./said";

test("arguments are told in one line, also when only their beginning was kept", () => {
  expect(argumentsOf('{"command": "git push"}')).toBe("git push");
  expect(argumentsOf('{"command": "git pu')).toBe('{"command": "git pu');
});

test("decisions and deciders that are not known say their name", () => {
  expect(decisionLook("allow").words).toBe("allowed");
  expect(decisionLook("ponder")).toEqual({ words: "ponder" });
  expect(decider("person")).toBe("by you");
  expect(decider("oracle")).toBe("by oracle");
});
