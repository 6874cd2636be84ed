/** What stands where there is nothing yet: what it is, and what to do. */

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** What stands where something is on its way. */
export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <div class="loading" role="status">
      <Icon name="spinner" spin />
      <span>{what}</span>
    </div>
  );
}
