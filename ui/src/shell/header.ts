/** What the head of the window shows for the page that is open. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";

interface Head {
  title: string;
  /** Beside the title, such as a model and a meter. */
  more: ComponentChildren;
}

export const head = signal<Head | null>(null);

/** Have the head show this while the page is open; without it, it shows the page's name. */
export function useHead(title: string, more: ComponentChildren = null, about: readonly unknown[] = []): void {
  useLayoutEffect(() => {
    head.value = { title, more };
  }, [title, ...about]);
  useLayoutEffect(() => () => void (head.value = null), []);
}
