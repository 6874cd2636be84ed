/** Where a work stands: its phase, and why it is paused. */

import { Tag, type Tone } from "../../parts/tag";
import { pauseWords, phaseWords } from "../../parts/work_words";
import type { Work } from "../../wire/responses";

const TONES: Readonly<Record<string, Tone>> = { plan_ready: "warn", executing: "accent", reviewing: "accent", complete: "good" };

export function Standing({ work }: { work: Pick<Work, "phase" | "pause"> }) {
  return (
    <span class="row">
      <Tag tone={TONES[work.phase]}>{phaseWords(work.phase)}</Tag>
      {work.pause && <Tag tone="warn">paused: {pauseWords(work.pause)}</Tag>}
    </span>
  );
}
