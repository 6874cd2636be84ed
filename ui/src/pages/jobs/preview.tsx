/** What a schedule means: its words and its next times, or what is wrong with it. */

import { useAsked } from "../../state/asked";
import { useLater } from "../../state/later";
import { asFailure, api } from "../../wire/api";
import type { ScheduleResponse, ScheduleView } from "../../wire/responses";
import { clockWords } from "./words";

export function Preview(typed: { schedule: string; zone: string }) {
  const schedule = useLater(typed.schedule.trim());
  const zone = useLater(typed.zone.trim());
  const { answer, error } = useAsked(async () => (schedule ? await api.post<ScheduleResponse>("/api/jobs/preview", { schedule, zone }) : null), [schedule, zone]);
  return (
    <div class="job-preview" aria-live="polite">
      {schedule && error !== null && <Wrong error={error} />}
      {schedule && error === null && answer && <Times schedule={answer} />}
    </div>
  );
}

function Wrong({ error }: { error: unknown }) {
  const { message, hint } = asFailure(error);
  return (
    <>
      <p class="bad">{message}</p>
      {hint && <p class="soft small">{hint}</p>}
    </>
  );
}

/** A schedule in words with its next times, each with its offset. */
export function Times({ schedule: { words, next_times: times } }: { schedule: ScheduleView }) {
  return (
    <>
      <p>{words}</p>
      {times.length > 0 && (
        <ol class="job-times" aria-label="Next times">
          {times.map((at) => (
            <li key={at}>
              <time dateTime={at}>{clockWords(at)}</time>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
