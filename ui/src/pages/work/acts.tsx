/** What a person does with a work as a whole. */

import { useState } from "preact/hooks";
import { RaiseDialog } from "../../parts/budget_bars";
import { Button } from "../../parts/button";
import { Confirm, Dialog } from "../../parts/dialog";
import { TextArea } from "../../parts/field";
import { PlanAnswer } from "../../parts/plan_answer";
import { tell, tellFailure } from "../../parts/toast";
import { href } from "../../router";
import { useAction } from "../../state/action";
import type { WorkDetailsResponse } from "../../wire/responses";
import { actOn, type WorkAct } from "../../wire/works";
import { doable, proposalOf, undecided } from "./details";

type Opened = "raise" | "answer" | "abandon" | null;

export function Acts({ found }: { found: WorkDetailsResponse }) {
  const [opened, setOpened] = useState<Opened>(null);
  const { busy, run } = useAction();
  const { work } = found;
  const can = doable(found);
  const close = () => setOpened(null);
  const act = (verb: WorkAct, words: string, json: object = {}) =>
    void run(() => actOn(work.id, verb, json).then(() => tell(words)).catch(tellFailure));
  const raise = (more: Record<string, number>) =>
    actOn(work.id, "resume", Object.keys(more).length > 0 ? { limits: more } : {}).then(() => tell("Limits raised. The work goes on."));
  // A plan that waits has one question, and declining it ends the work.
  if (can.plan && !proposalOf(found)) return <PlanAnswer work={work.id} change={false} />;
  return (
    <>
      <div class="row">
        {can.raise && (
          <Button kind="main" disabled={busy} onClick={() => setOpened("raise")}>
            Raise and resume
          </Button>
        )}
        {can.resume && (
          <Button kind={undecided(found).length > 0 ? undefined : "main"} icon="retry" disabled={busy} onClick={() => act("resume", "The work goes on.")}>
            Resume
          </Button>
        )}
        {can.resume && (
          <Button disabled={busy} onClick={() => setOpened("answer")}>
            Answer
          </Button>
        )}
        {can.pause && (
          <Button icon="stop" disabled={busy} onClick={() => act("pause", "The work is paused.")}>
            Pause
          </Button>
        )}
        {can.abandon && (
          <Button kind="danger" disabled={busy} onClick={() => setOpened("abandon")}>
            Abandon
          </Button>
        )}
        {can.raise && (
          <span class="soft small">
            A limit of the session or of the day is raised on the page <a href={href("usage", work.session_id)}>Usage</a>.
          </span>
        )}
      </div>
      {opened === "raise" && (
        <RaiseDialog
          title="Raise this work's limits"
          hint="Leave all fields empty to add as much again as it had."
          action="Raise and resume"
          lines={found.budget}
          onRaise={raise}
          onClose={close}
        />
      )}
      {opened === "answer" && <Answer onSend={(message) => act("resume", "The work goes on.", { message })} onClose={close} />}
      {opened === "abandon" && (
        <Confirm title="Abandon this work?" action="Abandon" danger onConfirm={() => act("abandon", "The work has ended.")} onClose={close}>
          A turn that runs is stopped. What the work has done stays. This cannot be undone.
        </Confirm>
      )}
    </>
  );
}

function Answer({ onSend, onClose }: { onSend: (message: string) => void; onClose: () => void }) {
  const [text, setText] = useState("");
  return (
    <Dialog title="Answer the work" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          onSend(text.trim());
          onClose();
        }}
      >
        <TextArea label="What is it to know?" value={text} onInput={setText} required focused />
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" disabled={!text.trim()}>
            Answer and resume
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
