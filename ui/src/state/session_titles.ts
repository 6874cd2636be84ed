/** What sessions are called, for pages that show several. */

import { api } from "../wire/api";
import type { SessionList } from "../wire/responses";
import { useAsked } from "./asked";
import { useFresh } from "./fresh";

const MOST = 1000;
const TELLING: ReadonlySet<string> = new Set(["renamed", "done", "catch_up"]);

/** A function that says what a session is called; one that is not known says its id. */
export function useTitles(): (id: string) => string {
  const { answer, again } = useAsked(
    (signal) => api.get<SessionList>("/api/sessions", { limit: MOST }, signal),
    [],
  );
  useFresh(TELLING, again);
  const titles = new Map(answer?.sessions.map((session) => [session.id, session.title]));
  return (id) => titles.get(id) || id;
}
