/** Sending a file, and hearing how far it is: a fetch does not tell that. */

import { address, failureOf, unreachable } from "./api";
import type { FileResponse } from "./responses";

/** A file on its way. */
export interface Sending {
  done: Promise<FileResponse>;
  stop: () => void;
}

/** Put a file into the workspace.
 *
 * `done` fails with an ApiFailure when the server refuses, or with an AbortError when it was stopped.
 */
export function send(path: string, body: Blob, onProgress: (share: number) => void): Sending {
  const request = new XMLHttpRequest();
  const done = new Promise<FileResponse>((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    request.onload = () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText) as FileResponse);
      else reject(failureOf(request.status, request.responseText));
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("It was stopped.", "AbortError"));
    request.open("PUT", address("/api/files/content", { path }));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept", "application/json");
    request.send(body);
  });
  return { done, stop: () => request.abort() };
}
