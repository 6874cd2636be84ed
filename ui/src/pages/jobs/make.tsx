/** A new job. */

import { tell } from "../../parts/toast";
import { go, href } from "../../router";
import { useHead } from "../../shell/header";
import { api } from "../../wire/api";
import type { JobResponse } from "../../wire/responses";
import { EMPTY } from "./draft";
import { JobEditor } from "./editor";

/** The last part of the address of this page; no job can be called so. */
export const MAKE = "+new";

export function Make() {
  useHead("New job");
  const save = async (fields: Record<string, unknown>) => {
    const { job } = await api.post<JobResponse>("/api/jobs", { job: fields });
    tell(`${job.name} is added.`);
    go("jobs", job.id);
  };
  return (
    <>
      <a class="back" href={href("jobs")}>
        All jobs
      </a>
      <JobEditor begin={EMPTY} before={null} action="Add job" onSave={save} />
    </>
  );
}
