/** Short news at the top of the window, away from what is written at its foot; failures stay longer. */

import { signal } from "@preact/signals";
import { href } from "../router";
import { asFailure } from "../wire/api";
import { IconButton } from "./button";
import { Icon } from "./icon";
import { linkWords, nextStep, type NextStep } from "./next_step";

interface Toast {
  key: number;
  text: string;
  hint: string;
  /** The tab of the settings that helps; empty when none does. */
  tab: string;
  bad: boolean;
}

const SHOWN = 4000;
const FAILURE_SHOWN = 15_000;

/** What is shown now. */
export const toasts = signal<readonly Toast[]>([]);
let count = 0;

/** Tell that something was done. */
export function tell(text: string): void {
  add(text, { hint: "", tab: "" }, false);
}

/** Tell that something went wrong. */
export function tellFailure(error: unknown): void {
  const failure = asFailure(error);
  add(failure.message, nextStep(failure.code, failure.hint), true);
}

function add(text: string, next: NextStep, bad: boolean): void {
  count += 1;
  const key = count;
  toasts.value = [...toasts.value.filter((toast) => toast.text !== text), { key, text, ...next, bad }];
  setTimeout(() => remove(key), bad ? FAILURE_SHOWN : SHOWN);
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
            {toast.tab && <a href={href("settings", toast.tab)}>{linkWords(toast.tab)}</a>}
          </div>
          <IconButton icon="close" label="Close" small onClick={() => remove(toast.key)} />
        </div>
      ))}
    </div>
  );
}
