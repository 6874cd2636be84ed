/** Moments and durations in words. Pure: now is an argument. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago: "just now", "5 min ago", "3 h ago", then the day. */
export function ago(at: string, now: number): string {
  const then = Date.parse(at);
  const passed = now - then;
  if (passed < MINUTE) return "just now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`;
  return day(then, now);
}

/** The day; with its year when that is not this one. */
function day(then: number, now: number): string {
  const date = new Date(then);
  const same = date.getFullYear() === new Date(now).getFullYear();
  const shape: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  return date.toLocaleDateString("en-GB", same ? shape : { ...shape, year: "numeric" });
}

/** A moment, whole. */
export function moment(at: string): string {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

/** How long something took: "12 ms", "3.4 s", "2 min 5 s". */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
