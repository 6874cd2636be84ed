/** A moment: how long ago, and the whole of it for whoever points at it. */

import { ago, moment } from "./moment";

export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at, Date.now())}
    </time>
  );
}
