/** What a person does with a job: run it, pause it, edit it, remove it. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/dialog";
import { tell, tellFailure } from "../../parts/toast";
import { go } from "../../router";
import { useAction } from "../../state/action";
import { api } from "../../wire/api";
import type { FiringResponse, Job } from "../../wire/responses";
import { cameOf } from "./words";

/** What may have changed a job or its history. */
export const TELLING: ReadonlySet<string> = new Set(["message", "approval_request", "done", "stopped", "limit", "error", "tool_result", "catch_up"]);

/** Where the server has a job. */
export function jobPath(id: string): string {
  return `/api/jobs/${encodeURIComponent(id)}`;
}

/** Let a job fire that was paused or proposed. */
export function resume(job: Job): Promise<unknown> {
  return api.post(`${jobPath(job.id)}/resume`);
}

/** One thing at a time; what came of it is told, in the words of what was done unless some are given. */
export function useActs(onDone: () => void) {
  const { busy, run } = useAction();
  const act = (does: () => Promise<unknown>, words?: string) =>
    void run(async () => {
      try {
        const told = await does();
        tell(words ?? String(told));
        onDone();
      } catch (error) {
        tellFailure(error);
      }
    });
  return { busy, act };
}

interface Shape {
  job: Job;
  onEdit: () => void;
  onChange: () => void;
}

export function Acts({ job, onEdit, onChange }: Shape) {
  const [removing, setRemoving] = useState(false);
  const { busy, act } = useActs(onChange);
  const leaving = useActs(() => go("jobs"));
  const path = jobPath(job.id);
  const start = async () => {
    const told = await api.post<FiringResponse>(`${path}/run`);
    const { turn_id: turn, note } = told.firing;
    return turn ? `${job.name} runs.` : `It did not run (${cameOf(told).words}): ${note}`;
  };
  return (
    <div class="row">
      {job.state === "proposed" && (
        <Button kind="main" icon="check" disabled={busy} onClick={() => act(() => resume(job), `${job.name} is accepted.`)}>
          Accept
        </Button>
      )}
      <Button icon="send" disabled={busy} onClick={() => act(start)}>
        Run now
      </Button>
      {job.state === "active" && (
        <Button icon="stop" disabled={busy} onClick={() => act(() => api.post(`${path}/pause`), `${job.name} is paused.`)}>
          Pause
        </Button>
      )}
      {job.state === "paused" && (
        <Button icon="retry" disabled={busy} onClick={() => act(() => resume(job), `${job.name} goes on.`)}>
          Resume
        </Button>
      )}
      <Button icon="edit" disabled={busy} onClick={onEdit}>
        Edit
      </Button>
      <Button icon="trash" kind="danger" disabled={busy} onClick={() => setRemoving(true)}>
        Remove…
      </Button>
      {removing && (
        <Confirm title={`Remove ${job.name}?`} action="Remove" danger onConfirm={() => leaving.act(() => api.delete(path), `${job.name} is removed.`)} onClose={() => setRemoving(false)}>
          Its history goes, too. The sessions of its runs stay.
        </Confirm>
      )}
    </div>
  );
}
