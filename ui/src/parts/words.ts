/** Words in one line. Pure. */

/** A text without the marks of Markdown. */
export function plain(text: string): string {
  return text.replace(/[#*_`>|]+/g, " ").replace(/\s+/g, " ").trim();
}
