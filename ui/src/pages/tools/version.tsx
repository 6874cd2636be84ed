/** One version of a skill: its code, what was found in it, and how it fared. */

import { Card } from "../../parts/card";
import { Code } from "../../parts/code";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { href } from "../../router";
import type { VersionResponse as Version } from "../../wire/responses";
import { Arguments } from "./arguments";
import { Findings } from "./findings";
import { inWords } from "./schema";
import { TrialForm } from "./trial_form";
import { TrialView } from "./trial";
import { standingTone } from "./words";

export function VersionView({ version, path }: { version: Version; path: string }) {
  const guide = version.kind !== "function";
  const { returns } = version.interface;
  return (
    <>
      <Card title={`Version ${version.number}`} actions={<Tag tone={standingTone(version.standing)}>{version.standing}</Tag>}>
        <div class="stack">
          <Origin version={version} />
          {version.warnings.length > 0 && <Findings findings={version.warnings} />}
          <Code text={version.source} language={guide ? "" : "python"} />
          {version.files.map((file) => (
            <details key={file.path} class="fold">
              <summary>{file.path}</summary>
              <Code text={file.content} />
            </details>
          ))}
        </div>
      </Card>
      {!guide && (
        <Card title="Arguments and result">
          <div class="stack">
            <Arguments schema={version.interface.parameters} />
            <p class="soft">
              Result: {returns ? inWords(returns, returns) : "anything"}. A call may take {version.limits.timeout} s and{" "}
              {version.limits.memory} MB.{" "}
              {version.safe_mode ? `It may import ${imports(version.allowed_imports)}.` : "It may import any module."}
            </p>
          </div>
        </Card>
      )}
      <Card title="Trial" actions={version.trial.passed ? <Tag tone="good">passed</Tag> : <Tag tone="bad">failed</Tag>}>
        <TrialView trial={version.trial} />
      </Card>
      {!guide && (
        <Card title="Try it">
          <TrialForm schema={version.interface.parameters} path={path} number={version.number} />
        </Card>
      )}
    </>
  );
}

const NAMED = 8;

function imports(names: readonly string[]): string {
  if (names.length === 0) return "nothing";
  const more = names.length - NAMED;
  return names.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more modules` : "");
}

function Origin({ version }: { version: Version }) {
  const session = version.brought.session_id;
  return (
    <p class="soft small">
      From {ORIGINS[version.brought.origin] ?? version.brought.origin}, <Time at={version.created_at} />
      {session && (
        <>
          , in <a href={href("chat", session)}>this session</a>
        </>
      )}
      {version.decided_at && (
        <>
          ; {version.standing} by {version.decided_by || "a person"} <Time at={version.decided_at} />
        </>
      )}
      . Its digest is <code title={version.digest}>{version.digest.slice(0, 12)}</code>.
    </p>
  );
}

const ORIGINS: Record<string, string> = {
  person: "a person",
  model: "the agent",
  file: "a file of the workspace",
  library: "a program that uses this package",
  import: "a module that was imported",
  reflection: "the agent's reflection",
};
