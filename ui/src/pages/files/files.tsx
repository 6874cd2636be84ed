/** The agent's files: look, bring, take, delete. */

import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { href, place } from "../../router";
import { useAsked } from "../../state/asked";
import { useFresh } from "../../state/fresh";
import { FileView } from "./file";
import { Folder } from "./folder";
import { look } from "./looked";
import "./files.css";

// Whatever a call did, it may have written a file.
const TELLING: ReadonlySet<string> = new Set(["tool_result", "done", "catch_up"]);

export default function Files() {
  const path = place.value.rest.join("/");
  return <Place key={path} path={path} />;
}

function Place({ path }: { path: string }) {
  const { answer, error, again } = useAsked((signal) => look(path, signal), [path]);
  useFresh(TELLING, again);
  return (
    <div class="page">
      <Trail path={path} />
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer?.kind === "folder" && error === null && (
        <Folder path={path} files={answer.files} truncated={answer.truncated} onChange={again} />
      )}
      {answer?.kind === "file" && error === null && <FileView file={answer.file} />}
    </div>
  );
}

/** Where we are, each part a way back. */
function Trail({ path }: { path: string }) {
  const parts = path ? path.split("/") : [];
  return (
    <nav class="trail" aria-label="Folders">
      <ol>
        {["Workspace", ...parts].map((name, index) => (
          <li key={index}>
            <a href={href("files", ...parts.slice(0, index))} aria-current={index === parts.length ? "page" : undefined}>
              {name}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
