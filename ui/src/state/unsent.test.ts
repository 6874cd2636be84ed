import { expect, test } from "vitest";
import type { Event } from "../wire/events";
import { pending } from "./unsent";

const message = (seq: number, content: string) => ({ type: "message", seq, content }) as Event;

test("a message is on its way until it is in the log", () => {
  const sent = [
    { key: "a", content: "yes", after: 4 },
    { key: "b", content: "yes", after: 4 },
  ];

  expect(pending(sent, [message(3, "yes")], 4)).toEqual(sent);
  expect(pending(sent, [message(5, "yes")], 5)).toEqual([sent[1]]);
  expect(pending(sent, [message(5, "yes"), message(6, "yes")], 6)).toEqual([]);
});

test("a message that waits for its session was not said by the session's past", () => {
  expect(pending([{ key: "a", content: "yes", after: null }], [message(2, "yes")], 7)).toEqual([
    { key: "a", content: "yes", after: 7 },
  ]);
});
