/** A button: with words, or with an icon and a name. */

import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

interface Look {
  kind?: "main" | "quiet" | "danger" | undefined;
  small?: boolean | undefined;
  icon?: IconName | undefined;
}

type Rest = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon" | "label" | "size">;

function look({ kind, small }: Look, more = ""): string {
  return ["button", kind && `button-${kind}`, small && "button-small", more].filter(Boolean).join(" ");
}

/** A button with words on it. */
export function Button(props: Look & Rest & { children: ComponentChildren }) {
  const { kind, small, icon, children, ...rest } = props;
  return (
    <button type="button" {...rest} class={look({ kind, small })}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button with an icon only; `label` is what it is called. */
export function IconButton(props: Look & Rest & { icon: IconName; label: string }) {
  const { kind = "quiet", small, icon, label, ...rest } = props;
  return (
    <button type="button" title={label} aria-label={label} {...rest} class={look({ kind, small }, "button-icon")}>
      <Icon name={icon} />
    </button>
  );
}
