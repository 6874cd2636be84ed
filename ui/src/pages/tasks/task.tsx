/** One task: where it stands, what it is called, what came of it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Menu, type Choice } from "../../parts/menu";
import { statusLook, STATUSES, type Node } from "../../parts/task_tree";
import { tellFailure } from "../../parts/toast";
import { api } from "../../wire/api";
import type { TaskResponse } from "../../wire/responses";

/** Tasks that have the same parent; those that are not in the status are only there for their parts. */
export function Branch({ nodes, status }: { nodes: readonly Node<TaskResponse>[]; status: string }) {
  return (
    <ul class="branch">
      {nodes.map(({ task, parts }) => (
        <li key={task.number} class={`task task-${task.status}`}>
          <Line task={task} faint={status !== "" && task.status !== status} />
          {parts.length > 0 && <Branch nodes={parts} status={status} />}
        </li>
      ))}
    </ul>
  );
}

async function change(task: TaskResponse, to: { status?: string; title?: string }): Promise<boolean> {
  const path = `/api/sessions/${encodeURIComponent(task.session_id)}/tasks/${task.number}`;
  try {
    // What was changed is overheard, like every change.
    await api.patch(path, to);
    return true;
  } catch (error) {
    tellFailure(error);
    return false;
  }
}

function Line({ task, faint }: { task: TaskResponse; faint: boolean }) {
  const [editing, setEditing] = useState(false);
  const row = useRef<HTMLDivElement>(null);
  const look = statusLook(task.status);
  const choices: Choice[] = Object.entries(STATUSES).map(([status, { icon, words }]) => ({
    label: words[0]!.toUpperCase() + words.slice(1),
    icon,
    checked: status === task.status,
    onChoose: () => void (status !== task.status && change(task, { status })),
  }));
  const leave = () => {
    setEditing(false);
    // The field goes, and the button that opened it comes back: whoever uses keys goes on there.
    requestAnimationFrame(() => row.current?.querySelector<HTMLElement>("[data-rename]")?.focus());
  };
  return (
    <div class={faint ? "task-row task-faint" : "task-row"} ref={row}>
      <div class="task-line">
        <Menu label={`${task.title}: ${look.words}. Change it`} button={<Icon name={look.icon} />} choices={choices} start />
      </div>
      {editing ? (
        <Rename task={task} onClose={leave} />
      ) : (
        <>
          <div class="grow task-words">
            <div class="task-title">
              {task.title} <span class="task-status soft small">{look.words}</span>
            </div>
            {task.description && <div class="soft small task-more">{task.description}</div>}
            {task.result && <Result text={task.result} />}
          </div>
          <IconButton icon="edit" label={`Rename ${task.title}`} small data-rename onClick={() => setEditing(true)} />
        </>
      )}
    </div>
  );
}

const SHORT = 160;

function Result({ text }: { text: string }) {
  if (text.length <= SHORT && !text.includes("\n")) return <div class="small task-more">{text}</div>;
  return (
    <details class="small">
      <summary>Result</summary>
      <div class="task-more">{text}</div>
    </details>
  );
}

function Rename({ task, onClose }: { task: TaskResponse; onClose: () => void }) {
  const [title, setTitle] = useState(task.title);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const save = async (event: Event) => {
    event.preventDefault();
    const words = title.trim();
    if (!words || words === task.title || (await change(task, { title: words }))) onClose();
  };
  return (
    <form
      class="task-rename grow"
      onSubmit={(event) => void save(event)}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <input
        ref={field}
        class="input"
        aria-label="Task name"
        value={title}
        maxLength={300}
        onInput={(event) => setTitle(event.currentTarget.value)}
      />
      <Button kind="main" type="submit" disabled={!title.trim()}>
        Save
      </Button>
      <Button onClick={onClose}>Cancel</Button>
    </form>
  );
}
