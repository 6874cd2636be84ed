/** What lies over every page: the palette and the list of keys. */

import { Dialog } from "../parts/dialog";
import { help, palette } from "./keys";
import { Palette } from "./palette";

const KEYS: readonly { keys: string[]; does: string }[] = [
  { keys: ["Enter"], does: "Send the message" },
  { keys: ["Shift", "Enter"], does: "New line" },
  { keys: ["Esc"], does: "Stop the running turn; close dialogs and drawers" },
  { keys: ["/"], does: "Focus the search or message field" },
  { keys: ["Ctrl", "K"], does: "Find a page or a session" },
  { keys: ["?"], does: "Show these shortcuts" },
];

export function Overlays() {
  return (
    <>
      {palette.value && <Palette onClose={() => (palette.value = false)} />}
      {help.value && (
        <Dialog title="Keyboard shortcuts" onClose={() => (help.value = false)}>
          <dl class="keys">
            {KEYS.map(({ keys, does }) => (
              <div key={does}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
