/** Light or dark: as the system says, unless somebody chose. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "lra.theme";

export const theme = signal<Theme>("system");

/** Begin with what was chosen before, and keep what is chosen. */
export function followTheme(): void {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") theme.value = kept;
  effect(() => {
    if (theme.value === "system") {
      delete document.documentElement.dataset["theme"];
      localStorage.removeItem(KEY);
    } else {
      document.documentElement.dataset["theme"] = theme.value;
      localStorage.setItem(KEY, theme.value);
    }
  });
}
