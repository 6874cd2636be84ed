/** A new agent. */

import { useHead } from "../../shell/header";
import { href } from "../../router";
import { Editor } from "./editor";
import { NEW } from "./form";

/** The last part of the address of this page; no agent can be called so. */
export const MAKE = "+new";

export function Make() {
  useHead("New agent");
  return (
    <div class="page agents">
      <a class="back" href={href("agents")}>
        All agents
      </a>
      <p class="soft">An agent has a purpose, instructions and tools of its own. It is saved as a draft, which you can try before you publish it.</p>
      <Editor begin={NEW} />
    </div>
  );
}
