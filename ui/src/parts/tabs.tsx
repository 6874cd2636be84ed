/** Tabs: arrows move between them. The page draws the panel of the one that is chosen. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Shape {
  /** What the tabs are about. */
  label: string;
  tabs: readonly { id: string; title: string }[];
  chosen: string;
  onChoose: (id: string) => void;
  children: ComponentChildren;
}

export function Tabs({ label, tabs, chosen, onChoose, children }: Shape) {
  const name = useId();
  const move = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex((tab) => tab.id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.id);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            class="tab"
            id={`${name}-${tab.id}`}
            data-tab={tab.id}
            aria-selected={tab.id === chosen}
            aria-controls={`${name}-panel`}
            tabIndex={tab.id === chosen ? 0 : -1}
            onClick={() => onChoose(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${name}-panel`} aria-labelledby={`${name}-${chosen}`}>
        {children}
      </div>
    </div>
  );
}
