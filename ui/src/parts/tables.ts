/** Tables in the results of tools: JSON lists, Markdown, or lines with one separator. Pure. */

/** A table: what its columns are called, and its rows. */
export interface Grid {
  head: string[];
  rows: string[][];
}

const FEWEST_ROWS = 1;
const MOST_COLUMNS = 30;

/** The table that a text is; null when it is something else. */
export function gridOf(text: string): Grid | null {
  const plain = text.trim();
  if (plain.startsWith("[")) return fromJson(plain);
  const lines = plain.split("\n").filter((line) => line.trim());
  if (lines.length < FEWEST_ROWS + 1) return null;
  return fromMarkdown(lines) ?? separated(lines, "\t") ?? separated(lines, ",") ?? separated(lines, ";");
}

function fromJson(text: string): Grid | null {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(list) || list.length === 0 || !list.every(isFlat)) return null;
  const head = [...new Set(list.flatMap((row) => Object.keys(row)))];
  if (head.length < 2 || head.length > MOST_COLUMNS) return null;
  return { head, rows: list.map((row) => head.map((name) => said(row[name]))) };
}

function isFlat(row: unknown): row is Record<string, unknown> {
  if (typeof row !== "object" || row === null || Array.isArray(row)) return false;
  return Object.values(row).every((value) => value === null || typeof value !== "object");
}

function said(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}

function fromMarkdown(lines: readonly string[]): Grid | null {
  if (!lines.every((line) => line.trim().startsWith("|"))) return null;
  if (!/^[\s|:-]+$/.test(lines[1] ?? "")) return null;
  const cells = (line: string) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  return even(cells(lines[0]!), lines.slice(2).map(cells));
}

/** Lines of which each has the same number of fields, more than one. */
function separated(lines: readonly string[], separator: string): Grid | null {
  const rows = lines.map((line) => fields(line, separator));
  const [head, ...rest] = rows;
  if (!head || (separator !== "\t" && !isHead(head))) return null;
  return even(head, rest);
}

/** Sentences have commas, too: the head of a table has short names without gaps. */
function isHead(names: readonly string[]): boolean {
  return names.every((name) => name.length > 0 && name.length < 40 && name.split(" ").length < 4 && !/[.!?]$/.test(name));
}

function even(head: string[], rows: string[][]): Grid | null {
  const fits = head.length > 1 && head.length <= MOST_COLUMNS && rows.length >= FEWEST_ROWS;
  return fits && rows.every((row) => row.length === head.length) ? { head, rows } : null;
}

/** The fields of a line; quotes hold separators together. */
function fields(line: string, separator: string): string[] {
  const found: string[] = [];
  let field = "";
  let quoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at]!;
    if (character === '"' && quoted && line[at + 1] === '"') {
      field += '"';
      at += 1;
    } else if (character === '"') quoted = !quoted;
    else if (character === separator && !quoted) {
      found.push(field.trim());
      field = "";
    } else field += character;
  }
  return [...found, field.trim()];
}
