/** A memory in a list. */

import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { href } from "../../router";
import { kindWords, trustLook, whyWords } from "./said";
import type { MemoryFound, MemoryTold } from "./shapes";

interface Shape {
  memory: MemoryTold | MemoryFound;
  titleOf?: (id: string) => string;
}

export function MemoryRow({ memory, titleOf }: Shape) {
  const score = "score" in memory ? memory.score : null;
  return (
    <li class={inUse(memory) ? "remembered" : "remembered remembered-off"}>
      <a class="remembered-words" href={href("memory", String(memory.id))}>
        {memory.content}
      </a>
      <div class="row small soft">
        <Marks memory={memory} />
        <Time at={memory.event_at} />
        {memory.session_id && titleOf && (
          <a class="clip remembered-session" href={href("chat", memory.session_id)}>
            {titleOf(memory.session_id)}
          </a>
        )}
      </div>
      {score !== null && "why" in memory && <Why score={score} why={memory.why} />}
    </li>
  );
}

function inUse(memory: MemoryTold): boolean {
  return memory.enabled && memory.valid_to === null;
}

/** What a memory is, in tags. */
export function Marks({ memory }: { memory: MemoryTold }) {
  const trust = trustLook(memory.trust);
  return (
    <>
      <Tag>{kindWords(memory.kind)}</Tag>
      <Tag tone={trust.tone}>{trust.words}</Tag>
      {!memory.enabled && <Tag tone="warn">switched off</Tag>}
      {memory.valid_to !== null && <Tag tone="warn">no longer true</Tag>}
    </>
  );
}

function Why({ score, why }: { score: number; why: Readonly<Record<string, number>> }) {
  const words = whyWords(why);
  return (
    <div class="meter">
      <progress value={score} max={1} aria-label="How well it fits" />
      <span>
        {score.toFixed(2)}
        {words && `: ${words}`}
      </span>
    </div>
  );
}
