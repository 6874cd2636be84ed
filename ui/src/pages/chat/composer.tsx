/** Where a message is written. Enter sends, Shift-Enter begins a line, Ctrl-Enter steers, Esc stops. */

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { tellFailure } from "../../parts/toast";
import { DEEP } from "../../parts/work_words";
import { partsOf, upload, withFiles } from "./attachments";
import { draftOf, keepDraft } from "./drafts";

interface Shape {
  session: string;
  /** Whether a turn runs or waits. */
  busy: boolean;
  /** How many messages are in line. */
  queued: number;
  /** What was not taken; it is written here again, and then it is empty. */
  returned: Signal<string>;
  /** Whether the message is for deep work. */
  deep: boolean;
  /** Whether a work has not ended. */
  working: boolean;
  onDeep: (deep: boolean) => void;
  /** The choice of the agent that answers. */
  agent: ComponentChildren;
  onSend: (text: string, steer: boolean) => void;
  onStop: () => void;
}

export function Composer({ session, busy, queued, returned, deep, working, agent, onDeep, onSend, onStop }: Shape) {
  const [text, setText] = useState(() => draftOf(session));
  const [files, setFiles] = useState<readonly string[]>([]);
  const [uploading, setUploading] = useState(0);
  const [over, setOver] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const filled = text.trim() !== "" || files.length > 0;

  useEffect(() => keepDraft(session, text), [session, text]);
  useEffect(() => {
    const refused = returned.value;
    if (!refused) return;
    const parts = partsOf(refused);
    setText((before) => [parts.text, before].filter(Boolean).join("\n\n"));
    setFiles((before) => [...parts.files, ...before]);
    returned.value = "";
  }, [returned.value]);
  useLayoutEffect(() => fit(area.current), [text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) area.current?.focus();
  }, []);

  const ready = filled && uploading === 0;
  const send = (steer = false) => {
    if (!ready) return;
    onSend(withFiles(text.trim(), files), steer);
    setText("");
    setFiles([]);
  };
  const attach = async (chosen: Iterable<File>) => {
    let taken: readonly string[] = files;
    for (const file of chosen) {
      setUploading((count) => count + 1);
      try {
        const names = new Set(taken.map((path) => path.split("/").at(-1) ?? ""));
        taken = [...taken, await upload(file, names)];
        setFiles(taken);
      } catch (error) {
        tellFailure(error);
      } finally {
        setUploading((count) => count - 1);
      }
    }
  };
  const pressed = (event: KeyboardEvent) => {
    // While an input method puts a character together, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(busy && (event.ctrlKey || event.metaKey));
  };
  return (
    <form
      class={over ? "composer composer-over" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void attach(event.dataTransfer?.files ?? []);
      }}
    >
      <Attached files={files} uploading={uploading} onRemove={(path) => setFiles(files.filter((each) => each !== path))} />
      <textarea
        ref={area}
        class="composer-text"
        rows={1}
        data-slash
        aria-label="Message"
        placeholder={busy ? "Queue a message" : "Write a message"}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={pressed}
        onPaste={(event) => {
          const pasted = event.clipboardData?.files;
          if (pasted?.length) void attach(pasted);
        }}
      />
      <div class="composer-how">
        <label class="switch small">
          <input type="checkbox" role="switch" checked={deep} onChange={(event) => onDeep(event.currentTarget.checked)} />
          <span>
            Deep work<span class="soft">: {working ? (deep ? "what you write is for the work" : "what you write is beside the work") : DEEP}</span>
          </span>
        </label>
        {agent}
      </div>
      <div class="composer-foot">
        <IconButton icon="clip" label="Attach files" small onClick={() => picker.current?.click()} />
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            void attach([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
        <span class="soft small grow composer-hint">{queued > 0 ? `${queued} queued` : ""}</span>
        {busy && (
          <Button small icon="stop" onClick={onStop} title="Stop (Esc)">
            Stop
          </Button>
        )}
        {busy && (
          <Button small onClick={() => send(true)} disabled={!ready} title="Give it to the running turn at its next step (Ctrl-Enter)">
            Steer
          </Button>
        )}
        <Button small kind="main" type="submit" icon="send" disabled={!ready}>
          {busy ? "Queue" : "Send"}
        </Button>
      </div>
    </form>
  );
}

function Attached(props: { files: readonly string[]; uploading: number; onRemove: (path: string) => void }) {
  if (props.files.length === 0 && props.uploading === 0) return null;
  return (
    <ul class="attached">
      {props.files.map((path) => (
        <li key={path} class="tag">
          <Icon name="files" />
          {path.split("/").at(-1)}
          <button type="button" class="attached-remove" aria-label={`Remove ${path}`} onClick={() => props.onRemove(path)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
      {props.uploading > 0 && (
        <li class="tag" role="status">
          <Icon name="spinner" spin />
          Uploading
        </li>
      )}
    </ul>
  );
}

/** The field is as high as its text, up to a bound that the style sheet sets. */
function fit(area: HTMLTextAreaElement | null): void {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
