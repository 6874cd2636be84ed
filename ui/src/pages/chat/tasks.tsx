/** The tasks of a session, as a tree. */

import { IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { statusLook, treeOf, type Node } from "../../parts/task_tree";
import type { TaskItem } from "../../wire/events";

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
        <p class="soft">None yet. The agent adds tasks when a job has several steps.</p>
      )}
    </aside>
  );
}

/** Tasks below one another. */
export function Branch({ nodes }: { nodes: readonly Node[] }) {
  return (
    <ul class="branch">
      {nodes.map(({ task, parts }) => {
        const look = statusLook(task.status);
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
