/** A component that is drawn again only when one of its properties is another. */

import { Component, type ComponentType } from "preact";

export function memo<Props extends object>(Draw: ComponentType<Props>): ComponentType<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return differs(this.props, next);
    }

    // Drawn by a component of its own, so that signals which it reads still draw it again.
    override render() {
      return <Draw {...(this.props as Props)} />;
    }
  };
}

function differs(before: object, after: object): boolean {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof object>;
  for (const name of names) if (before[name] !== after[name]) return true;
  return false;
}
