/** A card: a quiet frame around things that belong together. */

import type { ComponentChildren } from "preact";

export function Card(props: { title?: string; actions?: ComponentChildren; children: ComponentChildren }) {
  const { title, actions, children } = props;
  return (
    <section class="card">
      {(title || actions) && (
        <header class="card-head">
          {title && <h2>{title}</h2>}
          {actions && <div class="row">{actions}</div>}
        </header>
      )}
      <div class="card-body">{children}</div>
    </section>
  );
}
