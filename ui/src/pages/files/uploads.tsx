/** Files on their way into a folder. */

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes } from "../../parts/amount";
import { Button, IconButton } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { tell, tellFailure } from "../../parts/toast";
import { ApiFailure } from "../../wire/api";
import { send } from "../../wire/upload";
import type { FileResponse } from "../../wire/responses";
import { below, nameOf } from "./paths";

/** Bytes of the largest file that the server takes. */
const LARGEST = 64 << 20;

interface Way {
  key: number;
  name: string;
  share: number;
  stop: () => void;
}

export interface Uploading {
  ways: readonly Way[];
  /** Files whose names are taken, until somebody says what shall be. */
  doubted: readonly File[];
  bring: (files: readonly File[]) => void;
  replace: () => void;
  drop: () => void;
}

let count = 0;

/** Put files into a folder; those whose names are taken are asked about first. */
export function useUploads(folder: string, there: readonly FileResponse[], onDone: () => void): Uploading {
  const [ways, setWays] = useState<readonly Way[]>([]);
  const [doubted, setDoubted] = useState<readonly File[]>([]);
  const shown = useRef(true);
  useEffect(() => () => void (shown.current = false), []);

  const start = async (file: File) => {
    if (file.size > LARGEST) {
      tellFailure(new ApiFailure("too_large", `${file.name} is too large.`, `The limit is ${bytes(LARGEST)}.`, 0));
      return;
    }
    count += 1;
    const key = count;
    const sending = send(below(folder, file.name), file, (share) =>
      setWays((before) => before.map((way) => (way.key === key ? { ...way, share } : way))),
    );
    setWays((before) => [...before, { key, name: file.name, share: 0, stop: sending.stop }]);
    try {
      await sending.done;
      tell(`${file.name} is there.`);
    } catch (error) {
      if (!(error instanceof DOMException)) tellFailure(error);
    }
    setWays((before) => before.filter((way) => way.key !== key));
    if (shown.current) onDone();
  };
  const bring = (files: readonly File[]) => {
    const taken = new Set(there.map((file) => nameOf(file.path)));
    setDoubted(files.filter((file) => taken.has(file.name)));
    for (const file of files) if (!taken.has(file.name)) void start(file);
  };
  return {
    ways,
    doubted,
    bring,
    replace: () => {
      for (const file of doubted) void start(file);
      setDoubted([]);
    },
    drop: () => setDoubted([]),
  };
}

export function Uploads({ uploads }: { uploads: Uploading }) {
  if (uploads.ways.length === 0) return null;
  return (
    <ul class="ways" aria-label="Uploading">
      {uploads.ways.map((way) => (
        <li key={way.key} class="way">
          <span class="clip grow">{way.name}</span>
          <progress value={way.share} max={1} aria-label={`${way.name} is sent`} />
          <span class="soft small way-share">{Math.round(way.share * 100)} %</span>
          <IconButton icon="close" label={`Stop ${way.name}`} small onClick={way.stop} />
        </li>
      ))}
    </ul>
  );
}

/** The question whether files shall take the place of others. */
export function Replace({ uploads }: { uploads: Uploading }) {
  const { doubted } = uploads;
  if (doubted.length === 0) return null;
  const one = doubted.length === 1;
  const actions = (
    <>
      <Button onClick={uploads.drop}>Keep existing</Button>
      <Button kind="main" onClick={uploads.replace}>
        Replace
      </Button>
    </>
  );
  const title = one ? `Replace ${doubted[0]!.name}?` : `Replace ${doubted.length} files?`;
  return (
    <Dialog title={title} onClose={uploads.drop} actions={actions}>
      <p>{one ? "A file with this name already exists." : "Files with these names already exist:"}</p>
      {!one && (
        <ul class="taken">
          {doubted.map((file) => (
            <li key={file.name}>{file.name}</li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
