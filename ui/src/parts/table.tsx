/** A table that scrolls by itself when it is wider than its place. */

import type { ComponentChildren } from "preact";

/** A column: what its head says and what its cells show. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  number?: boolean;
}

interface Shape<Row> {
  /** What the table is about. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string;
}

export function Table<Row>({ label, columns, rows, rowKey }: Shape<Row>) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.number ? "number" : undefined}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)}>
              {columns.map((column) => (
                <td key={column.title} class={column.number ? "number" : undefined}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
