/** What stands in a session in which nothing was said yet. */

import { Empty } from "../../parts/empty";
import { status } from "../../state/access";

const IDEAS: readonly string[] = [
  "What can you do here, and which tools do you have?",
  "Look at the files of the workspace and tell me what is there.",
  "Remember that I prefer short answers.",
];

export function Begin({ model, onSay }: { model: string; onSay: (text: string) => void }) {
  if (!model) {
    return (
      <Empty icon="box" title="There is no model yet.">
        <p>
          Choose one above, where “No model” stands. If the list is empty: set a key such as{" "}
          <code>OPENAI_API_KEY</code>, start a model server such as Ollama on this machine, or fetch an embedded
          model with <code>lra models</code>. Then start <code>lra serve</code> again.
        </p>
      </Empty>
    );
  }
  return (
    <Empty icon="chat" title={`${status.value?.agent ?? "The agent"} is ready.`}>
      <p>
        Say what you want to be done. It goes on when you close this page, and you find it here when you come
        back.
      </p>
      <ul class="ideas">
        {IDEAS.map((idea) => (
          <li key={idea}>
            <button type="button" class="idea" onClick={() => onSay(idea)}>
              {idea}
            </button>
          </li>
        ))}
      </ul>
    </Empty>
  );
}
