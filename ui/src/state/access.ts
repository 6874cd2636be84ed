/** Whether somebody was let in. */

import { signal } from "@preact/signals";
import { api, onUnauthorized } from "../wire/api";
import type { StatusTold } from "../wire/shapes";
import { deafen, listen } from "./activity";

export type Access = "asking" | "in" | "out" | "unreachable";

export const access = signal<Access>("asking");
export const status = signal<StatusTold | null>(null);

/** Find out whether the server knows us. */
export async function comeIn(): Promise<void> {
  try {
    status.value = await api.get<StatusTold>("/api/status");
    access.value = "in";
    listen();
  } catch {
    // A server that wants a token has said so already.
    if (access.value === "asking") access.value = "unreachable";
  }
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
