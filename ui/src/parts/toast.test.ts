import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { tell, tellFailure, toasts } from "./toast";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("news goes by itself, a failure later, and neither stays for ever", () => {
  tell("Saved.");
  tellFailure(new Error("no"));
  expect(toasts.value).toHaveLength(2);

  vi.advanceTimersByTime(5_000);
  expect(toasts.value.map((toast) => toast.bad)).toEqual([true]);
  vi.advanceTimersByTime(60_000);
  expect(toasts.value).toEqual([]);
});
