/** How the window looks, in this browser. */

import { theme, type Theme } from "../../state/theme";

const THEMES: readonly { value: Theme; title: string; words: string }[] = [
  { value: "system", title: "As the system", words: "Light or dark, whichever your device is." },
  { value: "light", title: "Light", words: "Ink on paper." },
  { value: "dark", title: "Dark", words: "For the evening." },
];

export function Look() {
  return (
    <fieldset class="themes">
      <legend class="field-label">Theme, in this browser</legend>
      {THEMES.map(({ value, title, words }) => (
        <label key={value} class="theme">
          <input type="radio" name="theme" checked={theme.value === value} onChange={() => (theme.value = value)} />
          <span>
            <span class="rows-name">{title}</span>
            <span class="soft small theme-words">{words}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
