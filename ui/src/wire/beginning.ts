/** The beginning of a file: what is enough to look at. */

import { answered } from "./api";

/** Bytes, and whether there are more. */
export interface Beginning {
  bytes: Uint8Array;
  cut: boolean;
}

/** Read at most so many bytes of a file of the workspace.
 *
 * Throws an ApiFailure when it cannot be read.
 */
export async function beginning(path: string, most: number, signal: AbortSignal): Promise<Beginning> {
  const response = await answered("GET", "/api/files/content", { query: { path }, signal });
  const reader = response.body?.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  while (reader && size <= most) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
  }
  void reader?.cancel().catch(() => undefined);
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return { bytes: whole.subarray(0, most), cut: size > most };
}
