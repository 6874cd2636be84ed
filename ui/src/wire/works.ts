/** What a person does with a work. */

import { api } from "./api";
import type { WorkResponse } from "./responses";

export type WorkAct = "approve" | "revise" | "decline" | "pause" | "resume" | "abandon";

/** Do it; what comes of it is overheard, like every change. */
export function actOn(work: string, act: WorkAct, json: object = {}): Promise<WorkResponse> {
  return api.post<WorkResponse>(`/api/works/${encodeURIComponent(work)}/${act}`, json);
}
