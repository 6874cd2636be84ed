/** What covers the page beside an open drawer: a click or Esc closes the drawer. */

import { useLayoutEffect, useRef } from "preact/hooks";

export function Veil({ onClose }: { onClose: () => void }) {
  const veil = useRef<HTMLDivElement>(null);
  // Heard before the window is, where Esc stops the turn that runs.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const covers = veil.current?.offsetWidth && !document.querySelector("dialog[open]");
      if (event.key !== "Escape" || event.defaultPrevented || !covers) return;
      event.preventDefault();
      onClose();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  });
  return <div class="veil" ref={veil} onClick={onClose} />;
}
