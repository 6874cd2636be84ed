/** A memory in a list. */

import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { href } from "../../router";
import type { MemoryFound, MemoryResponse } from "../../wire/responses";
import { kindWords, trustLook, whyWords } from "./said";

interface Shape {
  memory: MemoryResponse | MemoryFound;
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

function inUse(memory: MemoryResponse): boolean {
  return memory.enabled && memory.valid_to === null;
}

/** What a memory is, in tags. */
export function Marks({ memory }: { memory: MemoryResponse }) {
  const trust = trustLook(memory.trust);
  return (
    <>
      <Tag>{kindWords(memory.kind)}</Tag>
      <Tag tone={trust.tone}>{trust.words}</Tag>
      {!memory.enabled && <Tag tone="warn">switched off</Tag>}
      {memory.valid_to !== null && <Tag tone="warn">superseded</Tag>}
    </>
  );
}

function Why({ score, why }: { score: number; why: Readonly<Record<string, number>> }) {
  const words = whyWords(why);
  return (
    <div class="meter">
      <progress value={score} max={1} aria-label="Relevance" />
      <span>
        {score.toFixed(2)}
        {words && `: ${words}`}
      </span>
    </div>
  );
}
