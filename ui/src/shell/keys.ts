/** Keys that work everywhere. */

import { signal } from "@preact/signals";

/** Whether the palette is open. */
export const palette = signal(false);

/** Whether the list of keys is open. */
export const help = signal(false);

/** Begin to hear them. */
export function followKeys(): void {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      palette.value = !palette.value;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    if (event.key === "?") {
      event.preventDefault();
      help.value = true;
    } else if (event.key === "/") {
      const field = document.querySelector<HTMLElement>("[data-slash]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    }
  });
}

/** Whether a key was pressed where somebody writes. */
export function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
