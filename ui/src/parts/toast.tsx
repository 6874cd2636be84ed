/** Short news at the edge of the window; failures stay until they are closed. */

import { signal } from "@preact/signals";
import { asFailure } from "../wire/api";
import { IconButton } from "./button";
import { Icon } from "./icon";

interface Toast {
  key: number;
  text: string;
  hint: string;
  bad: boolean;
}

const SHOWN = 4000;
const toasts = signal<readonly Toast[]>([]);
let count = 0;

/** Tell that something was done. */
export function tell(text: string): void {
  const key = add(text, "", false);
  setTimeout(() => remove(key), SHOWN);
}

/** Tell that something went wrong. */
export function tellFailure(error: unknown): void {
  const failure = asFailure(error);
  add(failure.message, failure.hint, true);
}

function add(text: string, hint: string, bad: boolean): number {
  count += 1;
  toasts.value = [...toasts.value.filter((toast) => toast.text !== text), { key: count, text, hint, bad }];
  return count;
}

function remove(key: number): void {
  toasts.value = toasts.value.filter((toast) => toast.key !== key);
}

/** Where they are shown; the window has one. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.key} class={toast.bad ? "toast toast-bad" : "toast"}>
          <Icon name={toast.bad ? "warning" : "check"} />
          <div class="grow">
            <div>{toast.text}</div>
            {toast.hint && <div class="soft small">{toast.hint}</div>}
          </div>
          <IconButton icon="close" label="Close" small onClick={() => remove(toast.key)} />
        </div>
      ))}
    </div>
  );
}
