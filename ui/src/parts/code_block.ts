/** A block of code as an element: its language, a button that copies it, and colours when it is idle. */

import { cleanedCode } from "./clean";

/** Longer code stays plain: its colours would hold the page up. */
const LONGEST = 50_000;

/** A block of code that can still grow. */
export class CodeBlock {
  readonly element = document.createElement("div");
  private readonly code = document.createElement("code");
  private readonly name = document.createElement("span");
  private language = "";
  private coloured = false;

  constructor() {
    this.element.className = "code";
    const head = document.createElement("div");
    head.className = "code-head";
    head.append(this.name, copyButton(() => this.code.textContent ?? ""));
    const frame = document.createElement("pre");
    frame.tabIndex = 0;
    frame.append(this.code);
    this.element.append(head, frame);
  }

  /** Show this text. */
  show(text: string, language: string): void {
    this.language = language;
    this.name.textContent = language;
    this.element.classList.toggle("code-plain", !language);
    const known = this.code.textContent ?? "";
    if (known === text) return;
    this.coloured = false;
    const only = this.code.firstChild;
    // Words are added to the node that is there: nothing of the block is made anew while it grows.
    if (known && text.startsWith(known) && only instanceof Text && !only.nextSibling) only.appendData(text.slice(known.length));
    else this.code.textContent = text;
  }

  /** Colour it, now that it does not change any more. */
  settle(): void {
    if (this.coloured || !this.language) return;
    this.coloured = true;
    void colour(this.code, this.language);
  }
}

/** Give code its colours as soon as there is time. */
export async function colour(code: HTMLElement, language: string): Promise<void> {
  const text = code.textContent ?? "";
  if (text.length > LONGEST) return;
  const { coloured } = await import("./highlight");
  whenIdle(() => {
    const html = code.textContent === text ? coloured(text, language) : null;
    if (html !== null) code.replaceChildren(cleanedCode(html));
  });
}

function whenIdle(work: () => void): void {
  if ("requestIdleCallback" in window) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 50);
}

const COPIED_FOR = 1500;

/** A button that copies what a function returns. */
export function copyButton(text: () => string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    void copyText(text()).then((copied) => {
      button.textContent = copied ? "Copied" : "Cannot copy";
      setTimeout(() => (button.textContent = "Copy"), COPIED_FOR);
    });
  });
  return button;
}

/** Copy a text; false when the browser does not let us. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP from another machine there is no clipboard, but there is this.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}
