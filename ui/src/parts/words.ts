/** Words in one line. Pure. */

/** A text without the marks of Markdown; names such as `read_file` keep what is a part of them. */
export function plain(text: string): string {
  return text
    .replace(/^[ \t]*(?:#+|>+)/gm, " ")
    .replace(/[*`|]+/g, " ")
    .replace(/(?<!\w)_+|_+(?!\w)/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
