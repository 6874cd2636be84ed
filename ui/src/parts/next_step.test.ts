import { expect, test } from "vitest";
import { nextStep } from "./next_step";

test("what helps in a terminal gives way to the page that helps in the window", () => {
  expect(nextStep("not_configured", "Set OPENAI_API_KEY. Then run 'lra serve'.")).toEqual({ hint: "", tab: "models" });
  expect(nextStep("model_unavailable", "Is it still running? 'lra models list' shows more.")).toEqual({
    hint: "Is it still running?",
    tab: "models",
  });
  expect(nextStep("failed", "Raise agent.limits.tokens.")).toEqual({ hint: "", tab: "config" });
});

test("a hint that is for everybody stays", () => {
  expect(nextStep("too_large", "Send at most 10 MB.")).toEqual({ hint: "Send at most 10 MB.", tab: "" });
});
