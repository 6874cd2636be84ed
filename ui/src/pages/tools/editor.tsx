/** A place to write code: line numbers, marks beside lines, and Tab for four spaces. */

import type { RefObject } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Finding } from "../../wire/responses";

/** The way to a line. */
export interface Cursor {
  goTo: (line: number) => void;
}

interface Shape {
  label: string;
  value: string;
  marks: readonly Finding[];
  cursor: RefObject<Cursor | null>;
  onInput: (text: string) => void;
}

const INDENT = "    ";
const FEWEST = 12;

export function Editor({ label, value, marks, cursor, onInput }: Shape) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  // After Esc, Tab leaves: nobody is caught in here who has no mouse.
  const leaving = useRef(false);
  const lines = value.split("\n");
  const marked = new Map(marks.filter((mark) => mark.line > 0).map((mark) => [mark.line, mark]));
  useEffect(() => {
    cursor.current = { goTo: (line) => select(area.current, line) };
  }, []);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") leaving.current = true;
    else if (event.key === "Tab" && !event.shiftKey && !leaving.current) {
      event.preventDefault();
      // The browser's own way keeps what can be undone.
      document.execCommand("insertText", false, INDENT);
    } else if (event.key !== "Shift" && event.key !== "Tab") leaving.current = false;
  };
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      <div class="editor">
        <div class="editor-gutter" aria-hidden="true" ref={gutter}>
          {lines.map((_, index) => (
            <div key={index} class={gutterClass(marked.get(index + 1))}>
              {index + 1}
            </div>
          ))}
        </div>
        <textarea
          ref={area}
          id={id}
          class="editor-area"
          spellcheck={false}
          autoCapitalize="off"
          autoComplete="off"
          wrap="off"
          rows={Math.max(FEWEST, lines.length + 1)}
          value={value}
          aria-describedby={`${id}-hint`}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={press}
          onFocus={() => (leaving.current = false)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      <div class="field-hint" id={`${id}-hint`}>
        Tab writes four spaces; Esc, then Tab, goes on to the next field.
      </div>
    </div>
  );
}

function gutterClass(mark: Finding | undefined): string | undefined {
  if (!mark) return undefined;
  return mark.severity === "error" ? "gutter-bad" : "gutter-warn";
}

function select(area: HTMLTextAreaElement | null, line: number): void {
  if (!area) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
}
