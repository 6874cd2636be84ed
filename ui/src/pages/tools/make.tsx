/** A new skill, or a new version of one: write it, have it reviewed, keep it. */

import { useRef, useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Card } from "../../parts/card";
import { Failure } from "../../parts/failure";
import { Tag } from "../../parts/tag";
import { tell } from "../../parts/toast";
import { go, href } from "../../router";
import { useHead } from "../../shell/header";
import { api } from "../../wire/api";
import type { SkillReviewed, VersionResponse as Version } from "../../wire/responses";
import { Arguments } from "./arguments";
import { Editor, type Cursor } from "./editor";
import { Findings } from "./findings";
import { TrialView } from "./trial";

/** The last part of the address of this page; no skill can be called so. */
export const MAKE = "+new";

const BEGINNING = `def celsius(fahrenheit: float) -> float:
    """Turn degrees of Fahrenheit into degrees of Celsius."""
    return (fahrenheit - 32) * 5 / 9
`;

export function Make() {
  useHead("Make a skill");
  const [source, setSource] = useState(BEGINNING);
  const [reviewed, setReviewed] = useState<SkillReviewed | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState("");
  const [enable, setEnable] = useState(false);
  const cursor = useRef<Cursor>(null);
  const attempt = async (what: string, work: () => Promise<void>) => {
    setBusy(what);
    setError(null);
    try {
      await work();
    } catch (failure) {
      setError(failure);
    }
    setBusy("");
  };
  const review = () => attempt("review", async () => setReviewed(await api.post<SkillReviewed>("/api/skills/review", { source })));
  const keep = () =>
    attempt("keep", async () => {
      const version = await api.post<Version>("/api/skills", { source, enable });
      tell(enable ? `${version.name} is enabled.` : `${version.name} was saved. It needs your approval.`);
      go("tools", version.name);
    });
  return (
    <div class="page">
      <a class="back" href={`${href("tools")}?tab=skills`}>
        All skills
      </a>
      <p class="soft">
        One public Python function with type hints and a docstring. It is reviewed without being run, then tried in a sandbox; the name of an old skill makes a new version of it.
      </p>
      <Editor
        label="Python code"
        value={source}
        marks={reviewed?.findings ?? []}
        cursor={cursor}
        onInput={(text) => {
          setSource(text);
          setReviewed(null);
        }}
      />
      <div class="row">
        <Button icon="search" disabled={busy !== "" || !source.trim()} onClick={() => void review()}>
          {busy === "review" ? "Reviewing" : "Review"}
        </Button>
        <Button kind="main" icon="check" disabled={busy !== "" || !source.trim()} onClick={() => void keep()}>
          {busy === "keep" ? "Testing" : "Save skill"}
        </Button>
        <label class="row">
          <input type="checkbox" checked={enable} onChange={(event) => setEnable(event.currentTarget.checked)} />
          and use it at once
        </label>
      </div>
      <div class="stack" aria-live="polite">
        {error !== null && <Failure error={error} />}
        {reviewed && <Review reviewed={reviewed} onGo={(line) => cursor.current?.goTo(line)} />}
      </div>
    </div>
  );
}

function Review({ reviewed, onGo }: { reviewed: SkillReviewed; onGo: (line: number) => void }) {
  const { findings, trial, interface: shape } = reviewed;
  return (
    <>
      <Card
        title={reviewed.name ? `What was found in ${reviewed.name}` : "What was found"}
        actions={reviewed.ok ? <Tag tone="good">ready</Tag> : <Tag tone="bad">needs changes</Tag>}
      >
        {findings.length > 0 ? <Findings findings={findings} onGo={onGo} /> : <p class="soft">No problems found.</p>}
      </Card>
      {shape && (
        <Card title="Arguments">
          <Arguments schema={shape.parameters} />
        </Card>
      )}
      {trial && (
        <Card title="Trial" actions={trial.passed ? <Tag tone="good">passed</Tag> : <Tag tone="bad">failed</Tag>}>
          <TrialView trial={trial} />
        </Card>
      )}
    </>
  );
}
