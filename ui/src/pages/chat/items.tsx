/** The parts of a turn that are neither words nor calls. */

import { Icon } from "../../parts/icon";
import { memo } from "../../parts/memo";
import { Tag } from "../../parts/tag";
import { href } from "../../router";
import type { Notice, Progress, Recollection } from "../../state/view";

const TRUST: Record<string, string> = { user: "you said", agent: "the agent noted", tool: "a tool said", web: "from the web" };

export const Recalled = memo(function Recalled({ item }: { item: Recollection }) {
  const count = item.memories.length;
  return (
    <details class="aside">
      <summary>
        <Icon name="memory" />
        {count === 1 ? "1 memory used" : `${count} memories used`}
        {item.degraded && <Tag tone="warn">incomplete</Tag>}
      </summary>
      {item.degraded && <p class="soft small">{item.degraded}</p>}
      <ul>
        {item.memories.map((memory) => (
          <li key={memory.id}>
            <a href={href("memory", String(memory.id))}>{memory.text}</a>{" "}
            <span class="soft small">
              {TRUST[memory.trust] ?? memory.trust}, {new Date(memory.at).toLocaleDateString("en-GB")}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
});

export const TaskLine = memo(function TaskLine({ item }: { item: Progress }) {
  return (
    <p class="aside aside-line">
      <Icon name="tasks" />
      {item.summary}
    </p>
  );
});

export const NoticeLine = memo(function NoticeLine({ item }: { item: Notice }) {
  return (
    <p class={item.tone === "warning" ? "aside aside-line aside-warning" : "aside aside-line"}>
      <Icon name={item.tone === "warning" ? "warning" : "info"} />
      <span>
        {item.title}
        {item.text && <span class="soft">. {item.text}</span>}
        {item.work && (
          <>
            {" "}
            <a href={href("work", item.work)}>Show the work</a>
          </>
        )}
      </span>
    </p>
  );
});
