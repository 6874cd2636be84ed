/** What is shown in a session in which nothing was said yet. */

import { Empty } from "../../parts/empty";
import { Setup } from "../../setup/setup";
import { status } from "../../state/access";

const IDEAS: readonly string[] = [
  "What can you do here, and which tools do you have?",
  "Look at the files of the workspace and tell me what is there.",
  "Remember that I prefer short answers.",
];

export function Begin({ model, onSay }: { model: string; onSay: (text: string) => void }) {
  if (!model) {
    return (
      <Empty icon="box" title="Connect a model to start.">
        <p>The agent needs a model. Choose one of these; it can be changed at any time in Settings.</p>
        <Setup current="" />
      </Empty>
    );
  }
  return (
    <Empty icon="chat" title={`${status.value?.agent ?? "The agent"} is ready.`}>
      <p>Say what you want done. It keeps working when you close this page.</p>
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
