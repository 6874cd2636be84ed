/** The tasks of a session, as a tree. */

import { IconButton } from "../../parts/button";
import { Icon, type IconName } from "../../parts/icon";
import type { TaskItem } from "../../wire/events";
import { treeOf, type Node } from "./task_tree";

const LOOKS: Record<string, { icon: IconName; words: string }> = {
  pending: { icon: "circle", words: "to do" },
  in_progress: { icon: "activity", words: "in progress" },
  completed: { icon: "check", words: "done" },
  failed: { icon: "warning", words: "failed" },
  cancelled: { icon: "close", words: "cancelled" },
};

interface Shape {
  tasks: readonly TaskItem[];
  summary: string;
  onClose: () => void;
}

export function TaskPanel({ tasks, summary, onClose }: Shape) {
  return (
    <aside class="tasks" aria-label="Tasks">
      <header class="tasks-head">
        <h2>Tasks</h2>
        <IconButton icon="close" label="Close the tasks" small onClick={onClose} />
      </header>
      {summary && <p class="soft small">{summary}</p>}
      {tasks.length > 0 ? (
        <Branch nodes={treeOf(tasks)} />
      ) : (
        <p class="soft">None yet. The agent writes them down when there is more than one thing to do.</p>
      )}
    </aside>
  );
}

function Branch({ nodes }: { nodes: readonly Node[] }) {
  return (
    <ul class="branch">
      {nodes.map(({ task, parts }) => {
        const look = LOOKS[task.status] ?? { icon: "circle" as const, words: task.status };
        return (
          <li key={task.number} class={`task task-${task.status}`}>
            <div class="task-line">
              <Icon name={look.icon} />
              <span>
                {task.title}
                <span class="unseen"> ({look.words})</span>
              </span>
            </div>
            {parts.length > 0 && <Branch nodes={parts} />}
          </li>
        );
      })}
    </ul>
  );
}
