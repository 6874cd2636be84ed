/** What a call would do to a file, as lines. Pure. */

import type { Json } from "../wire/events";

/** The change that the input of a call describes, as a diff; null when it describes none.
 *
 * Whatever is not understood makes it none: nobody shall allow what is not shown.
 */
export function changeOf(input: Json): string | null {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return null;
  const { path, content, mode, old_text, new_text, replace_all, diff, ...others } = input;
  if (typeof path !== "string" || Object.keys(others).length > 0) return null;
  const edits = [old_text, new_text, replace_all, diff].some((value) => value !== undefined);
  // A name is one line, whatever is in it.
  const name = JSON.stringify(path).slice(1, -1);
  if (typeof content === "string" && !edits) {
    const how = { append: "append", overwrite: "whole file" }[String(mode ?? "overwrite")];
    return how ? [`@@ ${name} (${how}) @@`, ...content.split("\n").map((line) => `+${line}`)].join("\n") : null;
  }
  if (content !== undefined || mode !== undefined) return null;
  if (typeof diff === "string" && diff && !old_text && !new_text) return [`@@ ${name} @@`, diff].join("\n");
  if (typeof old_text !== "string" || typeof (new_text ?? "") !== "string" || diff) return null;
  const where = replace_all === true ? `${name} (every occurrence)` : name;
  return [`@@ ${where} @@`, ...between(old_text, String(new_text ?? ""))].join("\n");
}

/** Two texts as lines: what both begin and end with is said once. */
function between(old: string, young: string): string[] {
  const before = old.split("\n");
  const after = young.split("\n");
  let head = 0;
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return [
    ...before.slice(0, head).map((line) => ` ${line}`),
    ...before.slice(head, before.length - tail).map((line) => `-${line}`),
    ...after.slice(head, after.length - tail).map((line) => `+${line}`),
    ...before.slice(before.length - tail).map((line) => ` ${line}`),
  ];
}
