/** The scrolling log: it stays at its end while somebody reads there, and never moves otherwise. */

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../parts/button";

/** How near to the end counts as being there, in pixels. */
const NEAR = 48;

interface Shape {
  label: string;
  /** How many entries are not drawn yet. */
  left: number;
  /** Draw more of them. */
  onEarlier: () => void;
  /** Whenever this grows, somebody has said something and wants to see it. */
  said: number;
  children: ComponentChildren;
}

export function Scroller({ label, left, onEarlier, said, children }: Shape) {
  const box = useRef<HTMLDivElement>(null);
  const inside = useRef<HTMLDivElement>(null);
  const top = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  const fromEnd = useRef<number | null>(null);
  const [away, setAway] = useState(false);

  const toEnd = useCallback(() => {
    const { current } = box;
    if (current) current.scrollTop = current.scrollHeight;
  }, []);
  const before = useRef(said);
  if (said > before.current) sticks.current = true;
  before.current = said;
  const scrolled = () => {
    const { current } = box;
    if (!current) return;
    sticks.current = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR;
    setAway(!sticks.current);
  };

  // Whoever opens something looks at it: its head stays below the pointer.
  const opened = (event: Event) => {
    if ((event.target as Element).closest(".call-head, summary")) sticks.current = false;
  };

  useLayoutEffect(() => {
    const { current } = box;
    // What is drawn above must not move what somebody reads.
    if (current && fromEnd.current !== null) current.scrollTop = current.scrollHeight - fromEnd.current;
    else if (sticks.current) toEnd();
    fromEnd.current = null;
  });
  useEffect(() => {
    // Pictures and colours come later, and the box itself changes with the keyboard of a phone.
    const watch = new ResizeObserver(() => (sticks.current ? toEnd() : scrolled()));
    if (inside.current) watch.observe(inside.current);
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (left === 0 || !top.current) return;
    const watch = new IntersectionObserver(
      ([seen]) => {
        if (!seen?.isIntersecting || !box.current) return;
        fromEnd.current = box.current.scrollHeight - box.current.scrollTop;
        onEarlier();
      },
      { root: box.current, rootMargin: "600px 0px 0px 0px" },
    );
    watch.observe(top.current);
    return () => watch.disconnect();
  }, [left, onEarlier]);

  return (
    <div class="log-frame">
      <div class="log" ref={box} onScroll={scrolled} onClickCapture={opened} role="log" aria-label={label} aria-live="off" tabIndex={0}>
        <div class="log-inside" ref={inside}>
          <div class="log-top" ref={top} />
          {children}
        </div>
      </div>
      {away && (
        <div class="log-end">
          <Button small icon="down" onClick={toEnd}>
            Jump to the end
          </Button>
        </div>
      )}
    </div>
  );
}
