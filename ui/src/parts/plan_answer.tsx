/** The answer to a plan that waits, or to a change of one. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../state/action";
import { actOn, type WorkAct } from "../wire/works";
import { Button } from "./button";
import { Confirm } from "./dialog";
import { TextArea } from "./field";
import { tell, tellFailure } from "./toast";

interface Shape {
  work: string;
  /** Whether it is a change of a plan that is approved already. */
  change: boolean;
  /** More to choose from. */
  children?: ComponentChildren;
}

export function PlanAnswer({ work, change, children }: Shape) {
  const [asking, setAsking] = useState(false);
  const [declining, setDeclining] = useState(false);
  const { busy, run } = useAction();
  const act = (verb: WorkAct, words: string, json: object = {}) =>
    void run(() => actOn(work, verb, json).then(() => tell(words)).catch(tellFailure));
  if (asking) {
    const send = (feedback: string) => act("revise", "The agent makes another plan.", { feedback });
    return <Changes busy={busy} onSend={send} onClose={() => setAsking(false)} />;
  }
  return (
    <div class="row">
      <Button kind="main" disabled={busy} onClick={() => act("approve", change ? "Change approved." : "Plan approved.")}>
        {change ? "Approve change" : "Approve plan"}
      </Button>
      <Button disabled={busy} onClick={() => setAsking(true)}>
        Ask for changes
      </Button>
      <Button
        kind="danger"
        disabled={busy}
        onClick={() => (change ? act("decline", "Change declined. The work goes on without it.") : setDeclining(true))}
      >
        Decline
      </Button>
      {children}
      {declining && (
        <Confirm
          title="Decline the plan?"
          action="Decline"
          danger
          onConfirm={() => act("decline", "Plan declined.")}
          onClose={() => setDeclining(false)}
        >
          This ends the work. To have another plan made, ask for changes instead.
        </Confirm>
      )}
    </div>
  );
}

function Changes(props: { busy: boolean; onSend: (feedback: string) => void; onClose: () => void }) {
  const [text, setText] = useState("");
  return (
    <form
      class="plan-changes"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSend(text.trim());
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        // In the chat, Esc would stop the turn that runs.
        event.stopPropagation();
        props.onClose();
      }}
    >
      <TextArea label="What is to be different?" rows={3} value={text} onInput={setText} required focused />
      <div class="row">
        <Button kind="main" type="submit" disabled={props.busy || !text.trim()}>
          Send
        </Button>
        <Button onClick={props.onClose}>Back</Button>
      </div>
    </form>
  );
}
