/** Markdown as blocks, so that a text that grows changes only at its end. No document is touched. */

import { Marked, type Token, type Tokens } from "marked";
import { fileAddress } from "../wire/api";

/** A block: the text that it came from, and what it is. */
export interface Block {
  raw: string;
  token: Token;
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const SAFE = /^(https?|mailto):/i;

const marked = new Marked({
  gfm: true,
  renderer: {
    // What looks like HTML is shown as it was written: a model that wants a page writes a file.
    html: ({ text }) => escaped(text),
    // The page has headings of its own, and what stands within it is one level below them.
    heading(token) {
      return `<h2 class="heading-${Math.min(token.depth, 3)}">${this.parser.parseInline(token.tokens)}</h2>`;
    },
    link(token) {
      return link(token.href, this.parser.parseInline(token.tokens));
    },
    image: ({ href, text }) => image(href, text),
    checkbox: ({ checked }) =>
      `<span class="check${checked ? " check-done" : ""}">${checked ? "[x]" : "[ ]"}</span> `,
  },
});

/** The blocks of a text, in order; joined, their raw texts are the text. */
export function blocksOf(text: string): Block[] {
  return marked.lexer(text).map((token) => ({ raw: token.raw, token }));
}

/** A block as HTML, which is not to be trusted before it was cleaned. */
export function htmlOf(block: Block): string {
  return marked.parser([block.token]);
}

/** The code of a block that is nothing else; null for any other. */
export function codeOf(block: Block): { text: string; language: string } | null {
  if (block.token.type !== "code") return null;
  const { text, lang = "" } = block.token as Tokens.Code;
  return { text, language: (lang.split(/\s/, 1)[0] ?? "").toLowerCase() };
}

/** How much of a text cannot change any more when it grows: all but its last block. */
export function settledLength(blocks: readonly Block[]): number {
  const last = blocks.findLastIndex((block) => block.token.type !== "space");
  return blocks.slice(0, Math.max(0, last)).reduce((sum, block) => sum + block.raw.length, 0);
}

/** A text with the line ends that blocks are counted in. */
export function normal(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

function link(target: string, inner: string): string {
  if (SAFE.test(target)) return `<a href="${escaped(target)}" target="_blank" rel="noopener noreferrer">${inner}</a>`;
  if (SCHEME.test(target) || target.startsWith("#") || target.startsWith("//")) return inner;
  return `<a href="${escaped(fileAddress(path(target)))}" download>${inner}</a>`;
}

/** Pictures of the workspace are shown; those of elsewhere are only linked, since nothing is fetched. */
function image(source: string, words: string): string {
  if (SCHEME.test(source) || source.startsWith("//")) return link(source, escaped(words || source));
  return `<img src="${escaped(fileAddress(path(source), true))}" alt="${escaped(words)}" loading="lazy">`;
}

function path(target: string): string {
  try {
    return decodeURI(target).replace(/^\.?\//, "");
  } catch {
    return target;
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}
