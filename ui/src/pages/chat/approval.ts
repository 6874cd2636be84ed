/** What became of the question whether a call may run. Pure. */

import type { Approval } from "../../state/view";

/** What was answered, in a few words; empty when nothing is to be said. */
export function answered(approval: Approval | null): string {
  const answer = approval?.answer;
  if (!answer) return "";
  if (!answer.allowed) return answer.reason ? `denied: ${answer.reason}` : "denied";
  return { session: "allowed for this session", always: "allowed always" }[answer.lasting] ?? "allowed once";
}
