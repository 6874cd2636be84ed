/** A file: what it is, and a look into it. */

import { useState } from "preact/hooks";
import { bytes } from "../../parts/amount";
import { Button } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { go } from "../../router";
import { fileAddress } from "../../wire/api";
import type { FileResponse } from "../../wire/responses";
import { Delete } from "./delete";
import { folderOf, nameOf } from "./paths";
import { Preview } from "./preview";

export function FileView({ file }: { file: FileResponse }) {
  const [leaving, setLeaving] = useState(false);
  const folder = folderOf(file.path);
  const back = () => go("files", ...(folder ? folder.split("/") : []));
  return (
    <section aria-label={nameOf(file.path)}>
      <div class="section-head">
        <div>
          <h2 class="file-name">{nameOf(file.path)}</h2>
          <span class="soft small">{bytes(file.size)}</span>
        </div>
        <div class="row">
          <a class="button" href={fileAddress(file.path)} download={nameOf(file.path)}>
            <Icon name="download" />
            Download
          </a>
          <Button kind="danger" icon="trash" onClick={() => setLeaving(true)}>
            Delete
          </Button>
        </div>
      </div>
      {/* Its size is a part of the key: what was changed is read again. */}
      <Preview key={`${file.path} ${file.size}`} file={file} />
      {leaving && <Delete file={file} onClose={() => setLeaving(false)} onDone={back} />}
    </section>
  );
}
