/** A look into a file: a picture, a table, or a text. */

import { useState } from "preact/hooks";
import { bytes } from "../../parts/amount";
import { Code } from "../../parts/code";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Markdown } from "../../parts/markdown";
import { Picture } from "../../parts/picture";
import { Table } from "../../parts/table";
import { gridOf, type Grid } from "../../parts/tables";
import { Tabs } from "../../parts/tabs";
import { useAsked } from "../../state/asked";
import { beginning } from "../../wire/beginning";
import type { FileResponse } from "../../wire/responses";
import { languageOf, lookingAt, textOf } from "./paths";

const MOST = 256 << 10;
const ROWS = 500;

export function Preview({ file }: { file: FileResponse }) {
  if (lookingAt(file.path) === "picture") {
    const otherwise = <p class="soft">This picture cannot be shown. Download it to open it.</p>;
    return <Picture path={file.path} otherwise={otherwise} />;
  }
  return <Words file={file} />;
}

function Words({ file }: { file: FileResponse }) {
  const { answer, error, again } = useAsked((signal) => beginning(file.path, MOST, signal), [file.path]);
  if (error !== null) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading what="Loading" />;
  const text = textOf(answer.bytes, answer.cut);
  if (text === null) {
    return (
      <Empty icon="files" title="No preview.">
        <p>Download the file to open it with another program.</p>
      </Empty>
    );
  }
  if (text === "") return <p class="soft">The file is empty.</p>;
  const whole = answer.cut ? text.slice(0, text.lastIndexOf("\n") + 1) || text : text;
  return (
    <>
      {answer.cut && <p class="soft small">This is the beginning: {bytes(MOST)} of {bytes(file.size)}.</p>}
      <Shown path={file.path} text={whole} />
    </>
  );
}

/** A text as what it is; as it is written, for whoever wants that. */
function Shown({ path, text }: { path: string; text: string }) {
  const [chosen, choose] = useState("drawn");
  const looking = lookingAt(path);
  const grid = looking === "table" ? gridOf(text) : null;
  const plain = <Code text={text} language={languageOf(path)} />;
  if (looking !== "markdown" && !grid) return plain;
  const tabs = [
    { id: "drawn", title: grid ? "Table" : "Page" },
    { id: "plain", title: "Text" },
  ];
  return (
    <Tabs label="How it is shown" tabs={tabs} chosen={chosen} onChoose={choose}>
      <div class="preview">
        {chosen === "plain" ? plain : grid ? <Rows grid={grid} /> : <Markdown text={text} />}
      </div>
    </Tabs>
  );
}

function Rows({ grid }: { grid: Grid }) {
  const shown = grid.rows.slice(0, ROWS);
  const columns = grid.head.map((title, index) => ({
    title: title || `Column ${index + 1}`,
    cell: (row: string[]) => row[index],
    number: shown.every((row) => /^-?[\d.,]*$/.test(row[index] ?? "")),
  }));
  return (
    <>
      <Table label="Table" columns={columns} rows={shown} rowKey={(_, index) => String(index)} />
      <p class="soft small">
        {grid.rows.length > ROWS ? `The first ${ROWS} of ${grid.rows.length} rows.` : `${grid.rows.length} rows.`}
      </p>
    </>
  );
}
