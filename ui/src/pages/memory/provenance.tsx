/** Where a memory comes from. */

import type { ComponentChildren } from "preact";
import { moment } from "../../parts/moment";
import { href } from "../../router";
import { useTitles } from "../../state/session_titles";
import type { MemoryResponse } from "../../wire/responses";
import { scopeWords, trustLook } from "./said";

export function Provenance({ memory }: { memory: MemoryResponse }) {
  const titleOf = useTitles();
  const { session_id: session, superseded_by: newer } = memory;
  return (
    <section aria-label="Source">
      <header class="section-head">
        <h2>Source</h2>
      </header>
      <dl class="facts">
        <Fact name="Said by">
          {trustLook(memory.trust).words}
          {memory.actor !== memory.trust && ` (${memory.actor})`}
        </Fact>
        <Fact name="Source">{memory.source}</Fact>
        {session && (
          <Fact name="Session">
            <a href={href("chat", session)}>{titleOf(session)}</a>
          </Fact>
        )}
        <Fact name="Visible to">{scopeWords(memory.scope)}</Fact>
        <Fact name="When">{moment(memory.event_at)}</Fact>
        <Fact name="Written">{moment(memory.recorded_at)}</Fact>
        {memory.seen > 1 && <Fact name="Heard">{memory.seen} times</Fact>}
        {memory.valid_to && <Fact name="Valid until">{moment(memory.valid_to)}</Fact>}
        {newer !== null && (
          <Fact name="Replaced by">
            <a href={href("memory", String(newer))}>Memory #{newer}</a>
          </Fact>
        )}
        {memory.expires_at && <Fact name="Expires">{moment(memory.expires_at)}</Fact>}
      </dl>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
