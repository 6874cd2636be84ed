/** What a version of an agent says. */

import { Card } from "../../parts/card";
import { linksOf } from "../../parts/chain";
import { ChainGraph } from "../../parts/chain_graph";
import { Code } from "../../parts/code";
import { Facts } from "../../parts/facts";
import { Icon } from "../../parts/icon";
import type { Json } from "../../wire/events";
import type { Panel } from "./one";
import { powersOf, termsOf } from "./words";

export function About({ agent }: Panel) {
  return (
    <div class="stack">
      {agent.warnings.length > 0 && <Warnings warnings={agent.warnings} />}
      <Card title="What it may do">
        <Facts facts={[...powersOf(agent), ...termsOf(agent)]} />
      </Card>
      {agent.chain && (
        <Card title="Chain">
          <ChainGraph strategy={agent.chain.strategy} links={linksOf(agent.chain)} />
        </Card>
      )}
      <Card title="Instructions">{agent.instructions ? <p class="kept">{agent.instructions}</p> : <p class="soft">None.</p>}</Card>
      {agent.examples.length > 0 && (
        <Card title="Messages that are for it">
          <ul class="agent-examples">
            {agent.examples.map((example) => (
              <li key={example}>{example}</li>
            ))}
          </ul>
        </Card>
      )}
      {agent.input_schema && <Json title="Input schema" value={agent.input_schema} />}
      {agent.output_schema && <Json title="Output schema" value={agent.output_schema} />}
      {Object.keys(agent.extra).length > 0 && <Json title="What its file said beside" value={agent.extra} />}
      <p class="soft small">
        Its digest is <code>{agent.digest}</code>.
      </p>
    </div>
  );
}

function Warnings({ warnings }: { warnings: readonly string[] }) {
  return (
    <div class="note agent-warnings" role="note">
      <Icon name="warning" />
      <ul>
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </div>
  );
}

function Json({ title, value }: { title: string; value: Record<string, Json> }) {
  return (
    <Card title={title}>
      <Code text={JSON.stringify(value, null, 2)} language="json" />
    </Card>
  );
}
