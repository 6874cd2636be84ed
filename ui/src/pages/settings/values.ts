/** Values of settings as text, and text as values. Pure. */

import type { Json } from "../../wire/events";
import type { SettingResponse } from "../../wire/responses";

/** A value as it is shown. */
export function shown(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What somebody typed, as a value: like the one that was there, else JSON if it is any, else text. */
export function read(text: string, before: Json): Json {
  const words = text.trim();
  if (words === "") return null;
  if (typeof before === "string") return words;
  try {
    return JSON.parse(words) as Json;
  } catch {
    return words;
  }
}

/** Settings by the first part of their key; only those that say something like `search`. */
export function sections(settings: readonly SettingResponse[], search: string, changed: boolean): [string, SettingResponse[]][] {
  const wanted = search.trim().toLowerCase();
  const found = new Map<string, SettingResponse[]>();
  for (const setting of settings) {
    if (changed && setting.origin === "default" && setting.pending === null) continue;
    if (!`${setting.key}\n${setting.description}`.toLowerCase().includes(wanted)) continue;
    const section = sectionOf(setting.key);
    found.set(section, [...(found.get(section) ?? []), setting]);
  }
  return [...found];
}

function sectionOf(key: string): string {
  const parts = key.split(".");
  return parts.length > 2 ? parts.slice(0, 2).join(".") : (parts[0] ?? "");
}
