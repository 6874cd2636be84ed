/** Whether somebody was let in. */

import { signal } from "@preact/signals";
import { api, onUnauthorized } from "../wire/api";
import type { StatusResponse } from "../wire/responses";
import { deafen, listen } from "./activity";

const PATIENCE = 3000;
let again: ReturnType<typeof setTimeout> | undefined;

export type Access = "asking" | "in" | "out" | "unreachable";

export const access = signal<Access>("asking");
export const status = signal<StatusResponse | null>(null);

/** Find out whether the server knows us. */
export async function comeIn(): Promise<void> {
  clearTimeout(again);
  try {
    await refreshStatus();
    access.value = "in";
    listen();
  } catch {
    // A server that wants a token has said so already.
    if (access.value === "out") return;
    access.value = "unreachable";
    again = setTimeout(() => void comeIn(), PATIENCE);
  }
}

/** Read once more what the server says of itself, such as the model that it asks. */
export async function refreshStatus(): Promise<void> {
  status.value = await api.get<StatusResponse>("/api/status");
}

/** Hear when the server wants a token. */
export function watchAccess(): void {
  onUnauthorized(() => {
    access.value = "out";
    deafen();
  });
}

/** Keep a token in the browser; no script can read it there. */
export async function login(token: string): Promise<void> {
  await api.post("/login", { token });
  access.value = "asking";
  await comeIn();
}

/** Take the token out of the browser. */
export async function logout(): Promise<void> {
  await api.post("/logout");
  deafen();
  access.value = "asking";
  await comeIn();
}
