/** What somebody asked; it can be asked differently. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { memo } from "../../parts/memo";
import { isEnded } from "../../state/log";
import type { Turn } from "../../state/view";
import { fileAddress } from "../../wire/api";
import type { Acts } from "./acts";
import { partsOf } from "./attachments";

const LONG = 1200;

export const Prompt = memo(function Prompt({ turn, acts }: { turn: Turn; acts: Acts }) {
  const [editing, setEditing] = useState(false);
  const [whole, setWhole] = useState(false);
  if (editing) return <Editing turn={turn} acts={acts} onClose={() => setEditing(false)} />;
  const { text, files } = partsOf(turn.prompt);
  const long = text.length > LONG && !whole;
  return (
    <div class="prompt">
      <div class="prompt-text">
        {long ? `${text.slice(0, LONG)}…` : text}
        {long && (
          <Button small kind="quiet" onClick={() => setWhole(true)}>
            Show all of it
          </Button>
        )}
        {files.length > 0 && <Files paths={files} />}
      </div>
      <div class="prompt-foot">
        {turn.origin !== "user" && <span class="soft small">from {turn.origin}</span>}
        {isEnded(turn) && (
          <IconButton icon="edit" label="Edit and ask again in a new session" small onClick={() => setEditing(true)} />
        )}
      </div>
    </div>
  );
});

function Files({ paths }: { paths: readonly string[] }) {
  return (
    <ul class="prompt-files">
      {paths.map((path) => (
        <li key={path}>
          <a class="tag" href={fileAddress(path)} download>
            <Icon name="files" />
            {path.split("/").at(-1)}
          </a>
        </li>
      ))}
    </ul>
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
        aria-label="The message, to be asked again"
        ref={area}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="row">
        <Button kind="main" type="submit" disabled={!text.trim()}>
          Ask again
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        <span class="soft small grow">It is asked in a new session that begins like this one.</span>
      </div>
    </form>
  );
}
