/** A folder: what is in it, and what can be put there. */

import { useRef, useState } from "preact/hooks";
import { bytes } from "../../parts/amount";
import { Button, IconButton } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { Icon } from "../../parts/icon";
import { href } from "../../router";
import { fileAddress } from "../../wire/api";
import type { FileResponse } from "../../wire/responses";
import { Delete } from "./delete";
import { nameOf, sorted } from "./paths";
import { Replace, Uploads, useUploads } from "./uploads";

interface Shape {
  path: string;
  files: readonly FileResponse[];
  truncated: boolean;
  onChange: () => void;
}

export function Folder({ path, files, truncated, onChange }: Shape) {
  const uploads = useUploads(path, files, onChange);
  const [over, setOver] = useState(0);
  const [leaving, setLeaving] = useState<FileResponse | null>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const dropped = (event: DragEvent) => {
    event.preventDefault();
    setOver(0);
    uploads.bring([...(event.dataTransfer?.files ?? [])]);
  };
  return (
    <div
      class={over > 0 ? "drop drop-over" : "drop"}
      // Every part that is entered or left tells it, too; only when all are left, nothing is above.
      onDragEnter={() => setOver((count) => count + 1)}
      onDragLeave={() => setOver((count) => Math.max(0, count - 1))}
      onDragOver={(event) => event.preventDefault()}
      onDrop={dropped}
    >
      <div class="section-head">
        <span class="soft small">{summary(files)}</span>
        <Button kind="main" icon="upload" onClick={() => chooser.current?.click()}>
          Upload
        </Button>
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => {
            uploads.bring([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
      </div>
      <Uploads uploads={uploads} />
      {files.length === 0 ? (
        <Empty icon="files" title={path ? "This folder is empty." : "No files yet."}>
          <p>Drop files here or upload them. Files that the agent writes appear here, too.</p>
        </Empty>
      ) : (
        <ul class="rows">
          {sorted(files).map((file) => (
            <Line key={file.path} file={file} onDelete={() => setLeaving(file)} />
          ))}
        </ul>
      )}
      {truncated && <p class="soft small">There is more in this folder than can be shown.</p>}
      {files.length > 0 && <p class="soft small drop-hint">Files can be dropped here.</p>}
      <Replace uploads={uploads} />
      {leaving && <Delete file={leaving} onClose={() => setLeaving(null)} onDone={onChange} />}
    </div>
  );
}

function summary(files: readonly FileResponse[]): string {
  const plain = files.filter((file) => !file.folder);
  const folders = files.length - plain.length;
  const size = plain.reduce((sum, file) => sum + file.size, 0);
  const words = [
    folders > 0 && (folders === 1 ? "1 folder" : `${folders} folders`),
    plain.length > 0 && `${plain.length === 1 ? "1 file" : `${plain.length} files`}, ${bytes(size)}`,
  ];
  return words.filter(Boolean).join(", ");
}

function Line({ file, onDelete }: { file: FileResponse; onDelete: () => void }) {
  const name = nameOf(file.path);
  return (
    <li class="file">
      <a class="file-link grow" href={href("files", ...file.path.split("/"))}>
        <Icon name={file.folder ? "files" : "file"} />
        <span class="clip">{name}</span>
      </a>
      {!file.folder && <span class="soft small file-size">{bytes(file.size)}</span>}
      {file.folder ? (
        <span class="file-gap" />
      ) : (
        <a
          class="button button-quiet button-small button-icon"
          href={fileAddress(file.path)}
          download={name}
          title={`Download ${name}`}
          aria-label={`Download ${name}`}
        >
          <Icon name="download" />
        </a>
      )}
      <IconButton icon="trash" label={`Delete ${name}`} small onClick={onDelete} />
    </li>
  );
}
