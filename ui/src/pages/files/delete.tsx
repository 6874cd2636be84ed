/** The question whether a file shall go; there is no way back. */

import { Confirm } from "../../parts/dialog";
import { tell, tellFailure } from "../../parts/toast";
import { api } from "../../wire/api";
import type { FileResponse } from "../../wire/responses";
import { nameOf } from "./paths";

export function Delete({ file, onClose, onDone }: { file: FileResponse; onClose: () => void; onDone: () => void }) {
  const name = nameOf(file.path);
  const remove = async () => {
    try {
      await api.delete("/api/files/content", { path: file.path });
      tell(`${name} is gone.`);
      onDone();
    } catch (error) {
      tellFailure(error);
    }
  };
  return (
    <Confirm title={`Delete ${name}?`} action="Delete" danger onConfirm={() => void remove()} onClose={onClose}>
      <p>{file.folder ? "Only an empty folder can be deleted." : "This deletes it for the agent, too. It cannot be undone."}</p>
    </Confirm>
  );
}
