/** Where the window is: the part of the address behind the hash. */

import { signal } from "@preact/signals";

/** A place: the page and what it is about, as in #/chat/my-session?at=4. */
export interface Place {
  page: string;
  rest: string[];
  query: URLSearchParams;
}

/** The place that an address names. */
export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/").filter(Boolean).map(decoded);
  return { page, rest, query: new URLSearchParams(query) };
}

/** The address of a place, for links. */
export function href(page: string, ...rest: string[]): string {
  return `#/${[page, ...rest].map(encodeURIComponent).join("/")}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Where the window is now. */
export const place = signal<Place>(placeOf(""));

/** Begin to follow the address. */
export function follow(): void {
  const look = () => void (place.value = placeOf(location.hash));
  addEventListener("hashchange", look);
  look();
}

/** Go somewhere, with a step in the browser's history. */
export function go(page: string, ...rest: string[]): void {
  location.hash = href(page, ...rest);
}

/** Go somewhere in place of where the window is. */
export function replace(page: string, ...rest: string[]): void {
  history.replaceState(null, "", href(page, ...rest));
  place.value = placeOf(location.hash);
}
