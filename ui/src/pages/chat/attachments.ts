/** Files that go with a message: they are put into the workspace, and the message names them. */

import { api } from "../../wire/api";
import type { FileList, FileResponse } from "../../wire/responses";

const FOLDER = "uploads";

/** A name that a workspace takes and that nothing else there has. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replace(/[^\p{L}\p{N}._ -]+/gu, "_").replace(/^[.\s]+/, "") || "file";
  if (!taken.has(plain)) return plain;
  const dot = plain.lastIndexOf(".");
  const [stem, ending] = dot > 0 ? [plain.slice(0, dot), plain.slice(dot)] : [plain, ""];
  let count = 2;
  while (taken.has(`${stem}-${count}${ending}`)) count += 1;
  return `${stem}-${count}${ending}`;
}

const MARK = "Attached files:\n- ";

/** What a message says, and the files that go with it. */
export function partsOf(message: string): { text: string; files: string[] } {
  const at = message.lastIndexOf(MARK);
  const list = at < 0 ? "" : message.slice(at + MARK.length);
  const files = list.split("\n- ");
  if (at < 0 || files.some((path) => !path.startsWith(`${FOLDER}/`) || path.includes("\n"))) {
    return { text: message, files: [] };
  }
  return { text: message.slice(0, at).trimEnd(), files };
}

/** A message with the files that go with it. */
export function withFiles(text: string, paths: readonly string[]): string {
  if (paths.length === 0) return text;
  const list = paths.map((path) => `- ${path}`).join("\n");
  return `${text}${text ? "\n\n" : ""}Attached files:\n${list}`;
}

/** Put a file into the workspace; its path there. */
export async function upload(file: File, taken: ReadonlySet<string>): Promise<string> {
  const known = new Set([...(await there()), ...taken]);
  const path = `${FOLDER}/${freeName(file.name, known)}`;
  return (await api.upload<FileResponse>("/api/files/content", { path }, file)).path;
}

/** The names in the folder; from above, since it may not be there yet. */
async function there(): Promise<string[]> {
  const { files } = await api.get<FileList>("/api/files", { path: ".", depth: 2 });
  const prefix = `${FOLDER}/`;
  return files.filter((file) => file.path.startsWith(prefix)).map((file) => file.path.slice(prefix.length));
}
