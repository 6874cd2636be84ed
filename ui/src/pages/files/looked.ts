/** What a path of the workspace is: a folder with what is in it, or a file. */

import { api } from "../../wire/api";
import type { FileList, FileResponse } from "../../wire/responses";
import { folderOf } from "./paths";

export type Looked = { kind: "folder"; files: FileResponse[]; truncated: boolean } | { kind: "file"; file: FileResponse };

const list = (path: string, signal: AbortSignal) => api.get<FileList>("/api/files", { path: path || "." }, signal);

/** Look at a path; "" is the root.
 *
 * Throws an ApiFailure when there is nothing.
 */
export async function look(path: string, signal: AbortSignal): Promise<Looked> {
  if (path) {
    // The folder above knows which of both it is.
    const above = await list(folderOf(path), signal);
    const file = above.files.find((each) => each.path === path);
    if (file && !file.folder) return { kind: "file", file };
  }
  const { files, truncated } = await list(path, signal);
  return { kind: "folder", files, truncated };
}
