import { expect, test } from "vitest";
import { href, placeOf } from "./router";

test("an address names a page and what it is about", () => {
  const place = placeOf("#/chat/my-session?at=4");

  expect([place.page, place.rest, place.query.get("at")]).toEqual(["chat", ["my-session"], "4"]);
  expect(placeOf("").page).toBe("");
});

test("whatever a name has in it comes back", () => {
  const strange = "a/b %?#ä";

  expect(placeOf(href("files", strange)).rest).toEqual([strange]);
});

test("an address that cannot be decoded is taken as it is", () => {
  expect(placeOf("#/chat/%zz").rest).toEqual(["%zz"]);
});
