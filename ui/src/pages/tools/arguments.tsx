/** The arguments of a call, in words. */

import { argumentsOf } from "./schema";
import type { Schema } from "./shapes";

export function Arguments({ schema }: { schema: Schema }) {
  const found = argumentsOf(schema);
  if (found.length === 0) return <p class="soft">No arguments.</p>;
  return (
    <ul class="arguments" aria-label="Arguments">
      {found.map(({ name, kind, description, required, usual }) => (
        <li key={name}>
          <div>
            <code class="argument-name">{name}</code> <span class="soft">{kind}</span>
            <span class="soft small">
              {" · "}
              {required ? "needed" : usual ? <>{usual} if left out</> : "may be left out"}
            </span>
          </div>
          {description && <div class="small">{description}</div>}
        </li>
      ))}
    </ul>
  );
}
