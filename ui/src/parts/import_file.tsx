/** A button that asks for a file and hands it over; what goes wrong is told. */

import { useRef } from "preact/hooks";
import { useAction } from "../state/action";
import { Button } from "./button";
import { tellFailure } from "./toast";

interface Shape {
  /** What is asked for. */
  label: string;
  accept: string;
  /** What the button says while the file is taken in. */
  working?: string;
  bring: (file: File) => Promise<unknown>;
}

export function ImportFile({ label, accept, working = "Importing", bring }: Shape) {
  const file = useRef<HTMLInputElement>(null);
  const { busy, run } = useAction();
  return (
    <>
      <input
        ref={file}
        type="file"
        accept={accept}
        class="unseen"
        tabIndex={-1}
        aria-label={label}
        onChange={(event) => {
          const [chosen] = event.currentTarget.files ?? [];
          if (chosen) void run(() => bring(chosen).catch(tellFailure));
          event.currentTarget.value = "";
        }}
      />
      <Button icon="upload" disabled={busy} onClick={() => file.current?.click()}>
        {busy ? working : "Import"}
      </Button>
    </>
  );
}
