/** The texts of the next request; each opens. */

import type { ComponentChildren } from "preact";
import { tokens } from "../../parts/amount";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { href } from "../../router";
import type { ContextResponse } from "../../wire/responses";
import { mannerOf } from "./parts";

export function Sections({ told }: { told: ContextResponse }) {
  return (
    <>
      <Section title="Instructions" count={told.shares.instructions} empty="There are none.">
        {told.instructions.map((part) => (
          <Fold key={part.source} name={SOURCES[part.source] ?? part.source} size={part.tokens} text={part.text} />
        ))}
      </Section>
      <Section title="Recalled memories" count={told.shares.memories} empty="None recalled. Enter a message above to try.">
        {told.memories.map((memory) => (
          <Fold
            key={memory.id}
            name={memory.text}
            size={memory.tokens}
            text={memory.text}
            tags={<Tag>{memory.trust}</Tag>}
            foot={
              <>
                Memory {memory.id}, a {memory.kind} from {memory.source}, <Time at={memory.at} />
              </>
            }
          />
        ))}
      </Section>
      {told.block && (
        <Section title="In place of left-out turns" count={told.shares.block} empty="">
          <Fold name="Tasks, files, summaries and lines" size={told.shares.block} text={told.block} />
        </Section>
      )}
      <Section title="History" count={told.shares.history} empty="No earlier messages.">
        {told.history.map((message, index) => {
          const manner = mannerOf(message.shown, message.reason);
          return (
            <Fold
              key={index}
              name={`${ROLES[message.role] ?? message.role}: ${message.text}`}
              size={message.tokens}
              text={message.text}
              tags={manner && <Tag tone="warn">{mannerOf(message.shown, "")}</Tag>}
              foot={manner && `It is ${manner}.`}
            />
          );
        })}
      </Section>
      {told.prompt && (
        <Section title="New message" count={told.shares.prompt} empty="">
          <Fold name={told.prompt} size={told.shares.prompt} text={told.prompt} />
        </Section>
      )}
      <Section title="Tools" count={told.shares.tools} empty="None.">
        <ul class="context-tools">
          {told.tools.map((tool) => (
            <li key={tool.name} class={tool.state === "left_out" ? "soft" : undefined}>
              <a class="mono" href={href("tools", tool.name)}>
                {tool.name}
              </a>
              {tool.kind !== "built_in" && <Tag>{tool.kind}</Tag>}
              {tool.state !== "offered" && <Tag tone="warn">{tool.state === "short" ? "one sentence" : "left out"}</Tag>}
              <span class="soft small">{tokens(tool.tokens)}</span>
            </li>
          ))}
        </ul>
      </Section>
    </>
  );
}

const SOURCES: Record<string, string> = { base: "Base instructions", client: "From the client", rules: "Pinned rules" };
const ROLES: Record<string, string> = { user: "You", assistant: "Agent", tool: "Tool", system: "System" };

function Section(props: { title: string; count: number; empty: string; children: ComponentChildren }) {
  const { children } = props;
  const none = Array.isArray(children) && children.length === 0;
  return (
    <section aria-label={props.title}>
      <h2 class="context-title">
        {props.title} <span class="soft small">{tokens(props.count)} tokens</span>
      </h2>
      {none ? <p class="soft">{props.empty}</p> : <div class="folds">{children}</div>}
    </section>
  );
}

interface Folded {
  name: string;
  size: number;
  text: string;
  tags?: ComponentChildren;
  foot?: ComponentChildren;
}

function Fold({ name, size, text, tags, foot }: Folded) {
  return (
    <details class="context-fold">
      <summary>
        <span class="clip grow">{name.slice(0, 300)}</span>
        {tags}
        <span class="soft small">{tokens(size)}</span>
      </summary>
      <div class="context-text">{text || "(empty)"}</div>
      {foot && <p class="soft small context-foot">{foot}</p>}
    </details>
  );
}
