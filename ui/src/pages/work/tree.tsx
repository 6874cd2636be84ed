/** The plan as a tree: each task with what proves it, and what was found. */

import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/tag";
import { statusLook, treeOf, type Node } from "../../parts/task_tree";
import { Time } from "../../parts/time";
import { criterionWords, evidenceTone } from "../../parts/work_words";
import type { Evidence, Task, WorkDetailsResponse } from "../../wire/responses";
import { evidenceOf, proofsOf, statusOf } from "./details";

type Found = Pick<WorkDetailsResponse, "tasks" | "evidence" | "stale">;

export function Tree({ found }: { found: Found }) {
  return <Branch nodes={treeOf(found.tasks)} found={found} />;
}

function Branch({ nodes, found }: { nodes: readonly Node<Task>[]; found: Found }) {
  return (
    <ul class="branch">
      {nodes.map((node) => (
        <li key={node.task.number} class={`task task-${statusOf(node)}`}>
          <OneTask task={node.task} status={statusOf(node)} found={found} />
          {node.parts.length > 0 && <Branch nodes={node.parts} found={found} />}
        </li>
      ))}
    </ul>
  );
}

function OneTask({ task, status, found }: { task: Task; status: string; found: Found }) {
  const look = statusLook(status);
  const evidence = evidenceOf(found, task.number);
  const [newest] = evidence;
  return (
    <div class="task-line">
      <Icon name={look.icon} />
      <div class="grow work-task">
        <div class="work-task-title">
          <span>
            #{task.number} {task.title}
          </span>{" "}
          <span class="soft small">{look.words}</span> {newest && <Tag tone={evidenceTone(newest.state)}>{newest.state}</Tag>}{" "}
          {found.stale.includes(task.number) && <Tag tone="warn">stale</Tag>}
        </div>
        {task.description && <p class="soft small kept">{task.description}</p>}
        {task.criterion && <p class="small kept">Done when {criterionWords({ ...task.criterion })}.</p>}
        <Terms task={task} />
        {task.result && <p class="small kept">Result: {task.result}</p>}
        {evidence.length > 0 && <Proofs evidence={evidence} />}
        {task.notes.length > 0 && <Notes notes={task.notes} />}
      </div>
    </div>
  );
}

/** What a task waits for, where it may reach, and how long it may take. */
function Terms({ task }: { task: Task }) {
  const parts = [
    task.depends_on.length > 0 && `after ${task.depends_on.map((each) => `#${each}`).join(", ")}`,
    task.scope.paths.length > 0 && `may write ${task.scope.paths.join(", ")}`,
    task.scope.hosts.length > 0 && `may reach ${task.scope.hosts.join(", ")}`,
    task.estimate !== null && `about ${task.estimate} steps`,
  ].filter(Boolean);
  return parts.length > 0 ? <p class="soft small kept">{parts.join(" · ")}</p> : null;
}

function Proofs({ evidence }: { evidence: readonly Evidence[] }) {
  return (
    <details class="fold">
      <summary>Evidence</summary>
      <ul class="work-proofs">
        {proofsOf(evidence).map(({ newest, count }) => (
          <li key={newest.number}>
            <div class="row small">
              <Tag tone={evidenceTone(newest.state)}>{newest.state}</Tag>
              <span class="soft">
                {newest.kind}, by {newest.by}, {count > 1 && `${count} times, last `}
                <Time at={newest.at} />
              </span>
            </div>
            <p class="mono kept">{newest.proof}</p>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Notes({ notes }: { notes: readonly string[] }) {
  return (
    <details class="fold">
      <summary>{notes.length === 1 ? "Note" : `Notes (${notes.length})`}</summary>
      <ul class="work-notes small">
        {notes.map((note, index) => (
          <li key={index} class="kept">
            {note}
          </li>
        ))}
      </ul>
    </details>
  );
}
