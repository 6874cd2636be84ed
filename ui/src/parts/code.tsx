/** Code or plain text in a frame, with a button that copies it. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { CodeBlock } from "./code_block";

export function Code({ text, language = "" }: { text: string; language?: string }) {
  const root = useRef<HTMLDivElement>(null);
  const block = useRef<CodeBlock | null>(null);
  useLayoutEffect(() => {
    if (!block.current) {
      block.current = new CodeBlock();
      root.current?.append(block.current.element);
    }
    block.current.show(text, language);
    block.current.settle();
  }, [text, language]);
  return <div ref={root} />;
}
