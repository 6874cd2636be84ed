/** What to do about a failure, for somebody who sits before the window. Pure. */

/** A hint without what only helps in a terminal, and the page that helps instead. */
export interface NextStep {
  hint: string;
  /** The tab of the settings; empty when none helps. */
  tab: string;
}

const TABS: Readonly<Record<string, string>> = {
  not_configured: "models",
  model_unavailable: "models",
  cannot_see: "models",
  bad_config: "config",
  limit_reached: "config",
  sandbox_unavailable: "doctor",
  embedder_failed: "doctor",
};

/** A command, a variable of the environment, or a setting. */
const TERMINAL = /\blra [a-z]|\bpip install\b|\b[A-Z]+_[A-Z_]+\b|\b(?:agent|memory|sandbox|sessions|gateway|reflection)\.[a-z_]+/;

/** What helps with a failure of this kind; a hint without a page that would help stays as it is. */
export function nextStep(code: string, hint: string): NextStep {
  const tab = TABS[code] ?? (TERMINAL.test(hint) ? "config" : "");
  if (!tab) return { hint, tab };
  const sentences = hint.split(/(?<=[.!?])\s+/).filter((sentence) => !TERMINAL.test(sentence));
  return { hint: sentences.join(" "), tab };
}

/** What a link to a tab of the settings says. */
export function linkWords(tab: string): string {
  return { models: "Open model settings", doctor: "Open the doctor" }[tab] ?? "Open settings";
}
