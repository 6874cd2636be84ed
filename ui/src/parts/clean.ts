/** The only door through which HTML comes into the page. */

import DOMPurify from "dompurify";

const PROSE = {
  ALLOWED_TAGS: [
    "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img",
    "li", "ol", "p", "pre", "s", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "target", "rel", "download", "src", "alt", "loading", "class", "start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

/** HTML of prose as nodes that cannot do harm. */
export function cleaned(html: string): DocumentFragment {
  const nodes = DOMPurify.sanitize(html, PROSE);
  for (const image of nodes.querySelectorAll("img")) {
    if (!image.getAttribute("src")?.startsWith("/api/files/")) image.remove();
  }
  for (const link of nodes.querySelectorAll("a[target]")) link.setAttribute("rel", "noopener noreferrer");
  for (const table of nodes.querySelectorAll("table")) scrollable(table, "Table");
  for (const code of nodes.querySelectorAll("pre")) code.tabIndex = 0;
  return nodes;
}

/** Colours of code: spans with classes and nothing else. */
export function cleanedCode(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: ["span"],
    ALLOWED_ATTR: ["class"],
    RETURN_DOM_FRAGMENT: true,
  });
}

/** What may be wider than its place scrolls there, also with the keyboard. */
function scrollable(table: Element, label: string): void {
  table.classList.add("table");
  const frame = document.createElement("div");
  frame.className = "table-scroll";
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", label);
  table.replaceWith(frame);
  frame.append(table);
}
