/** Drafts: what was typed and not sent stays, for each session. */

const PREFIX = "lra.draft.";

/** What was typed in a session. */
export function draftOf(session: string): string {
  return localStorage.getItem(PREFIX + session) ?? "";
}

/** Keep what is typed; nothing is kept of nothing. */
export function keepDraft(session: string, text: string): void {
  try {
    if (text) localStorage.setItem(PREFIX + session, text);
    else localStorage.removeItem(PREFIX + session);
  } catch {
    // The browser's place is full: the draft lives as long as the page does.
  }
}
