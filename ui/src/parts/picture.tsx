/** A picture of the workspace; one that is not there leaves no trace, or what stands in its place. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { fileAddress } from "../wire/api";

export function Picture({ path, otherwise = null }: { path: string; otherwise?: ComponentChildren }) {
  const vector = path.toLowerCase().endsWith(".svg");
  const [source, setSource] = useState(vector ? "" : fileAddress(path, true));
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    if (!vector) return;
    // The server never lets a browser open such a file by itself, since it may bring a script along;
    // inside of a picture no script runs.
    let made = "";
    void drawing(path).then((found) => {
      made = found;
      if (made) setSource(made);
      else setMissing(true);
    });
    return () => URL.revokeObjectURL(made);
  }, [path]);
  if (missing) return <>{otherwise}</>;
  if (!source) return null;
  return (
    <figure class="picture">
      <a href={fileAddress(path)} download>
        <img src={source} alt={`Picture ${path}`} onError={() => setMissing(true)} />
      </a>
      <figcaption class="soft small">{path}</figcaption>
    </figure>
  );
}

async function drawing(path: string): Promise<string> {
  try {
    const response = await fetch(fileAddress(path), { credentials: "same-origin" });
    if (!response.ok) return "";
    return URL.createObjectURL(new Blob([await response.blob()], { type: "image/svg+xml" }));
  } catch {
    return "";
  }
}
