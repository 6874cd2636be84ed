/** The arguments of a call, in words. */

import { Table } from "../../parts/table";
import { argumentsOf, type Argument } from "./schema";
import type { Schema } from "./shapes";

export function Arguments({ schema }: { schema: Schema }) {
  const found = argumentsOf(schema);
  if (found.length === 0) return <p class="soft">It takes no arguments.</p>;
  return (
    <Table<Argument>
      label="Arguments"
      rows={found}
      rowKey={(each) => each.name}
      columns={[
        { title: "Argument", cell: (each) => <code>{each.name}</code> },
        { title: "What it may be", cell: (each) => each.kind },
        {
          title: "If left out",
          cell: (each) => (each.required ? "It is needed." : each.usual ? <code>{each.usual}</code> : "Nothing"),
        },
        { title: "What it is for", cell: (each) => each.description },
      ]}
    />
  );
}
