/** A menu behind a button: arrows move, Esc closes, a choice closes too. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon";

/** One line of a menu. */
export interface Choice {
  label: string;
  icon?: IconName;
  note?: string;
  danger?: boolean;
  checked?: boolean;
  onChoose: () => void;
}

interface Shape {
  /** What the button is called. */
  label: string;
  button: ComponentChildren;
  choices: readonly Choice[];
  buttonClass?: string;
  start?: boolean;
  up?: boolean;
  onOpen?: () => void;
}

export function Menu(props: Shape) {
  const { label, button, choices, buttonClass = "button button-quiet button-small button-icon" } = props;
  const [shown, show] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!shown) return;
    const outside = (event: Event) => !root.current?.contains(event.target as Node) && show(false);
    // Heard before the page does: there, Esc stops the turn that runs.
    const pressed = (event: KeyboardEvent) => move(event, root.current, close);
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", pressed, true);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", pressed, true);
    };
  }, [shown]);
  // Choices may come later than the list, and take the place of what had the focus.
  useEffect(() => {
    if (shown) items(root.current)[0]?.focus();
  }, [shown, choices.length]);

  const close = () => {
    show(false);
    opener.current?.focus();
  };
  const open = () => {
    if (!shown) props.onOpen?.();
    show(!shown);
  };
  const place = ["menu", props.start && "menu-start", props.up && "menu-up"].filter(Boolean).join(" ");
  return (
    <div class={place} ref={root}>
      <button
        type="button"
        ref={opener}
        class={buttonClass}
        title={label}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={shown}
        onClick={open}
      >
        {button}
      </button>
      {shown && (
        <div class="menu-list" role="menu" aria-label={label}>
          {choices.map((choice) => (
            <MenuItem key={choice.label} choice={choice} close={close} />
          ))}
        </div>
      )}
    </div>
  );
}

function MenuItem({ choice, close }: { choice: Choice; close: () => void }) {
  const { label, icon, note, danger = false, checked, onChoose } = choice;
  return (
    <button
      type="button"
      role={checked === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={checked}
      class={danger ? "menu-item menu-item-danger" : "menu-item"}
      onClick={() => {
        close();
        onChoose();
      }}
    >
      {icon && <Icon name={icon} />}
      <span class="grow">
        {label}
        {note && <span class="soft small"> {note}</span>}
      </span>
      {checked && <Icon name="check" />}
    </button>
  );
}

function items(root: HTMLElement | null): HTMLElement[] {
  return [...(root?.querySelectorAll<HTMLElement>(".menu-item") ?? [])];
}

function move(event: KeyboardEvent, root: HTMLElement | null, close: () => void): void {
  if (event.key === "Escape") {
    event.stopPropagation();
    close();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const all = items(root);
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[(at + step + all.length) % all.length]?.focus();
}
