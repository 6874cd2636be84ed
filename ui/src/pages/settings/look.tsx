/** The theme, in this browser. */

import { theme, type Theme } from "../../state/theme";

const THEMES: readonly { value: Theme; title: string }[] = [
  { value: "system", title: "System" },
  { value: "light", title: "Light" },
  { value: "dark", title: "Dark" },
];

export function Look() {
  return (
    <fieldset class="themes">
      <legend class="field-label">Theme, in this browser</legend>
      {THEMES.map(({ value, title }) => (
        <label key={value} class="theme">
          <input type="radio" name="theme" checked={theme.value === value} onChange={() => (theme.value = value)} />
          <span class="rows-name">{title}</span>
        </label>
      ))}
    </fieldset>
  );
}
