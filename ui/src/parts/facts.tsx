/** What something is, as names and words. */

import { Fragment, type ComponentChildren } from "preact";

/** A line: what it is about, and what it says. */
export type Fact = readonly [name: string, words: ComponentChildren];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, words]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{words}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
