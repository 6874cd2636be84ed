/** Where an agent is made better: edit a draft, try it, and see what is sent to it. */

import { Card } from "../../parts/card";
import { Editor } from "./editor";
import { formOf } from "./form";
import type { Panel } from "./one";
import { Try } from "./try";
import { Which } from "./which";

export function Console(props: Panel) {
  const { agent, versions, onChange } = props;
  return (
    <div class="stack">
      <Card title="Try it">
        <Try key={versions.length} {...props} />
      </Card>
      <Card title={`Edit version ${agent.version}`}>
        <Editor begin={formOf(agent)} onSaved={(saved) => saved.name === agent.name && onChange(saved.version)} />
      </Card>
      <Card title="Which agent?">
        <Which />
      </Card>
    </div>
  );
}
