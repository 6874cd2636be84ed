/** Markdown that may still grow: blocks that are settled are never touched again. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { blocksOf, codeOf, htmlOf, normal, settledLength, type Block } from "./blocks";
import { cleaned } from "./clean";
import { CodeBlock } from "./code_block";

/** A block on the page. */
interface Drawn {
  raw: string;
  element: HTMLElement;
  code: CodeBlock | null;
}

/** Draws a text that grows into an element. */
class Growing {
  private settled = "";
  private open: Drawn[] = [];

  constructor(private readonly root: HTMLElement) {}

  /** Show a text; when it goes on from the one before, only its end is made anew. */
  show(text: string, live: boolean): void {
    const whole = normal(text);
    if (!whole.startsWith(this.settled)) this.reset();
    const blocks = blocksOf(whole.slice(this.settled.length));
    const fixed = settledLength(blocks);
    this.draw(blocks.filter((block) => block.token.type !== "space"));
    const known = this.open;
    if (fixed > 0) {
      this.settled += whole.slice(this.settled.length, this.settled.length + fixed);
      this.open = known.slice(-1);
    }
    const still = live ? known.slice(0, -1) : known;
    for (const drawn of still) drawn.code?.settle();
  }

  private draw(blocks: readonly Block[]): void {
    blocks.forEach((block, index) => {
      const there = this.open[index];
      if (there && there.raw === block.raw) return;
      const code = codeOf(block);
      if (there?.code && code) {
        there.code.show(code.text, code.language);
        there.raw = block.raw;
        return;
      }
      const drawn = made(block);
      if (there) there.element.replaceWith(drawn.element);
      else this.root.append(drawn.element);
      this.open[index] = drawn;
    });
    for (const drawn of this.open.splice(blocks.length)) drawn.element.remove();
  }

  private reset(): void {
    this.root.replaceChildren();
    this.settled = "";
    this.open = [];
  }
}

function made(block: Block): Drawn {
  const code = codeOf(block);
  if (code) {
    const drawn = new CodeBlock();
    drawn.show(code.text, code.language);
    return { raw: block.raw, element: drawn.element, code: drawn };
  }
  const element = document.createElement("div");
  element.append(cleaned(htmlOf(block)));
  return { raw: block.raw, element, code: null };
}

/** A text in Markdown; `live` while more of it comes. */
export function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const root = useRef<HTMLDivElement>(null);
  const growing = useRef<Growing | null>(null);
  useLayoutEffect(() => {
    if (!root.current) return;
    growing.current ??= new Growing(root.current);
    growing.current.show(text, live);
  }, [text, live]);
  return <div class="prose" ref={root} />;
}
