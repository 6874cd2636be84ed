/** Paths of the workspace. Pure. */

import type { FileResponse } from "../../wire/responses";

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The folder that a path is in; "" for the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** A path below a folder. */
export function below(folder: string, name: string): string {
  return folder ? `${folder}/${name}` : name;
}

/** Folders first, then by name, as people sort: 2 before 10. */
export function sorted(files: readonly FileResponse[]): FileResponse[] {
  const names = new Intl.Collator("en", { numeric: true });
  return [...files].sort(
    (one, other) => Number(other.folder) - Number(one.folder) || names.compare(nameOf(one.path), nameOf(other.path)),
  );
}

/** How a file is looked at. */
export type Looking = "picture" | "table" | "markdown" | "text";

const PICTURES = new Set(["png", "jpg", "jpeg", "gif", "webp", "svg"]);
const LANGUAGES: Readonly<Record<string, string>> = {
  py: "python", js: "javascript", mjs: "javascript", ts: "typescript", tsx: "typescript", json: "json", jsonl: "json",
  sh: "bash", yml: "yaml", yaml: "yaml", toml: "ini", ini: "ini", html: "xml", xml: "xml", svg: "xml", css: "css",
  sql: "sql", diff: "diff", patch: "diff", rs: "rust", go: "go",
};

function ending(path: string): string {
  const name = nameOf(path);
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
}

/** How a file is looked at, by its name. */
export function lookingAt(path: string): Looking {
  const kind = ending(path);
  if (PICTURES.has(kind)) return "picture";
  if (kind === "csv" || kind === "tsv") return "table";
  return kind === "md" || kind === "markdown" ? "markdown" : "text";
}

/** The language that a file is written in; "" when its name does not say it. */
export function languageOf(path: string): string {
  return LANGUAGES[ending(path)] ?? "";
}

/** A text, or null for bytes that are none. */
export function textOf(bytes: Uint8Array, cut: boolean): string | null {
  if (bytes.includes(0)) return null;
  // A cut may go through a character; then the rest of it is no mistake of the file.
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    return decoder.decode(bytes, { stream: cut });
  } catch {
    return null;
  }
}
