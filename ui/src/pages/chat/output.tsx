/** What a call came to: a table, pictures, or its text. */

import { useMemo, useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Code } from "../../parts/code";
import { Table } from "../../parts/table";
import { tellFailure } from "../../parts/toast";
import type { Call } from "../../state/view";
import { api } from "../../wire/api";
import { Picture } from "../../parts/picture";
import { picturesIn } from "../../parts/pictures";
import { gridOf, type Grid } from "../../parts/tables";
import type { SessionHistory } from "../../wire/responses";

/** Characters of a result that an event tells. */
const PREVIEW = 500;
const ROWS = 50;

export function Output({ call, session }: { call: Call; session: string }) {
  const [whole, setWhole] = useState<string | null>(null);
  const text = whole ?? call.result;
  const cut = whole === null && call.result.length >= PREVIEW;
  const grid = useMemo(() => gridOf(cut ? withoutLastLine(text) : text), [text, cut]);
  const readAll = async () => {
    try {
      setWhole((await wholeResult(session, call.id)) ?? call.result);
    } catch (error) {
      tellFailure(error);
    }
  };
  return (
    <>
      {grid ? <Rows grid={grid} /> : <Code text={text} language={isJson(text) ? "json" : ""} />}
      {cut && (
        <Button small kind="quiet" onClick={() => void readAll()}>
          Show the whole result
        </Button>
      )}
    </>
  );
}

/** The pictures that a call has made; they are seen without opening it. */
export function Pictures({ call }: { call: Call }) {
  const paths = useMemo(() => (call.state === "done" ? picturesIn(call.result) : []), [call]);
  return (
    <>
      {paths.map((path) => (
        <Picture key={path} path={path} />
      ))}
    </>
  );
}

function Rows({ grid }: { grid: Grid }) {
  const shown = grid.rows.slice(0, ROWS);
  const columns = grid.head.map((title, index) => ({
    title: title || `Column ${index + 1}`,
    cell: (row: string[]) => row[index],
    number: shown.every((row) => /^-?[\d.,]*$/.test(row[index] ?? "")),
  }));
  const more = grid.rows.length - shown.length;
  return (
    <div class="output-table">
      <Table label="Result" columns={columns} rows={shown} rowKey={(_, index) => String(index)} />
      {more > 0 && <p class="soft small">And {more} more rows.</p>}
    </div>
  );
}

function withoutLastLine(text: string): string {
  return text.slice(0, Math.max(0, text.lastIndexOf("\n")));
}

function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

async function wholeResult(session: string, call: string): Promise<string | null> {
  let after: number | null = 0;
  while (after !== null) {
    const page: SessionHistory = await api.get<SessionHistory>(`/api/sessions/${encodeURIComponent(session)}/history`, {
      after,
      limit: 1000,
    });
    const found = page.messages.find((each) => each.role === "tool" && each.tool_call_id === call);
    if (found) return found.content;
    after = page.next;
  }
  return null;
}
