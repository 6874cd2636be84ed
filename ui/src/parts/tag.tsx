/** A word in a pill, for states and kinds. */

import type { ComponentChildren } from "preact";

export type Tone = "good" | "warn" | "bad" | "accent";

export function Tag({ tone, children }: { tone?: Tone | undefined; children: ComponentChildren }) {
  return <span class={tone ? `tag tag-${tone}` : "tag"}>{children}</span>;
}
