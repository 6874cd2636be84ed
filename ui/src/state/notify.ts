/** A word from the browser when a call waits for an answer and nobody looks. */

import { effect, signal } from "@preact/signals";
import { go } from "../router";
import type { ApprovalView } from "../wire/responses";
import { approvals } from "./activity";

const ASKED = "lra.notify";

/** Whether the browser may still be asked; it is asked once. */
export const mayAsk = signal("Notification" in globalThis && Notification.permission === "default" && !localStorage.getItem(ASKED));

/** Ask the person, who has just clicked, whether notifications may be shown. */
export async function askToNotify(): Promise<void> {
  mayAsk.value = false;
  localStorage.setItem(ASKED, "asked");
  await Notification.requestPermission();
}

/** Begin to notify. */
export function notifyOfApprovals(): void {
  let known: ReadonlySet<string> = new Set();
  effect(() => {
    const waiting = approvals.value;
    if (document.hidden) waiting.filter((each) => !known.has(each.id)).forEach(notify);
    known = new Set(waiting.map((each) => each.id));
  });
}

function notify(approval: ApprovalView): void {
  if (!("Notification" in globalThis) || Notification.permission !== "granted") return;
  try {
    const shown = new Notification("Approval needed", { body: `${approval.tool} is waiting for your answer.`, tag: approval.id });
    shown.onclick = () => {
      focus();
      go("chat", approval.session_id);
      shown.close();
    };
  } catch {
    // Phones let only installed programs notify.
  }
}
