/** What somebody asked; it can be asked differently. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Picture } from "../../parts/picture";
import { isPicture } from "../../parts/pictures";
import { memo } from "../../parts/memo";
import { isEnded } from "../../state/log";
import type { Said, Turn } from "../../state/view";
import { fileAddress } from "../../wire/api";
import type { Acts } from "./acts";
import { partsOf } from "./attachments";

const LONG = 1200;

export const Prompt = memo(function Prompt({ turn, acts }: { turn: Turn; acts: Acts }) {
  const [editing, setEditing] = useState(false);
  const [whole, setWhole] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  if (editing) return <Editing turn={turn} acts={acts} onClose={() => setEditing(false)} />;
  const { text, files } = partsOf(turn.prompt);
  const long = text.length > LONG && !whole;
  return (
    <div class="prompt">
      <div class="prompt-text" ref={place}>
        {long ? `${text.slice(0, LONG)}…` : text}
        {long && (
          <Button small kind="quiet" onClick={() => setWhole(true)}>
            Show all
          </Button>
        )}
        {files.length > 0 && <Files paths={files} />}
      </div>
      <div class="prompt-foot">
        {turn.origin !== "user" && <span class="soft small">from {turn.origin}</span>}
        {turn.origin === "user" && text && (
          <IconButton
            icon="pin"
            label="Pin as a rule: the message, or what is selected of it"
            small
            // What is selected stays selected.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => acts.pin(turn, selectedIn(place.current) || text)}
          />
        )}
        {isEnded(turn) && (
          <IconButton icon="edit" label="Edit and ask again in a new session" small onClick={() => setEditing(true)} />
        )}
      </div>
    </div>
  );
});

/** What is selected within a part of the page; empty when nothing is, or more. */
function selectedIn(place: Node | null): string {
  const chosen = getSelection();
  const inside = place?.contains(chosen?.anchorNode ?? null) && place.contains(chosen?.focusNode ?? null);
  return inside ? String(chosen).trim() : "";
}

/** What was said to a turn while it ran, where the agent heard it. */
export const SaidBetween = memo(function SaidBetween({ item }: { item: Said }) {
  const { text, files } = partsOf(item.text);
  return (
    <div class="prompt">
      <div class="prompt-text">
        {text}
        {files.length > 0 && <Files paths={files} />}
      </div>
      <span class="soft small">Steered</span>
    </div>
  );
});

function Files({ paths }: { paths: readonly string[] }) {
  return (
    <ul class="prompt-files">
      {paths.map((path) => (
        <li key={path}>{isPicture(path) ? <Picture path={path} otherwise={<FileLink path={path} />} /> : <FileLink path={path} />}</li>
      ))}
    </ul>
  );
}

function FileLink({ path }: { path: string }) {
  return (
    <a class="tag" href={fileAddress(path)} download>
      <Icon name="files" />
      {path.split("/").at(-1)}
    </a>
  );
}

function Editing({ turn, acts, onClose }: { turn: Turn; acts: Acts; onClose: () => void }) {
  const [text, setText] = useState(turn.prompt);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const send = () => {
    if (!text.trim()) return;
    onClose();
    acts.askAgain(turn, text.trim());
  };
  return (
    <form
      class="prompt prompt-editing"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          onClose();
        }
      }}
    >
      <textarea
        class="input"
        rows={Math.min(12, text.split("\n").length + 1)}
        aria-label="Edited message"
        ref={area}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="row">
        <Button kind="main" type="submit" disabled={!text.trim()}>
          Ask again
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        <span class="soft small grow">This starts a new session with the same history.</span>
      </div>
    </form>
  );
}
