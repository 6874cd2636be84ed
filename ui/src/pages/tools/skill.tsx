/** A skill: what it does, its versions, and what can be done with it. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Confirm } from "../../parts/dialog";
import { Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Icon } from "../../parts/icon";
import { Select } from "../../parts/field";
import { Tag } from "../../parts/tag";
import { Time } from "../../parts/time";
import { tell, tellFailure } from "../../parts/toast";
import { replace } from "../../router";
import { useAsked } from "../../state/asked";
import { address, api } from "../../wire/api";
import type { SkillResponse, VersionList } from "../../wire/responses";
import { Difference } from "./difference";
import { VersionView } from "./version";
import { callsOf, stateOf } from "./words";

interface Shape {
  skill: SkillResponse;
  onChange: () => void;
}

const MOST = 50;

export function SkillView({ skill, onChange }: Shape) {
  const path = `/api/skills/${encodeURIComponent(skill.name)}`;
  const { answer, error, again } = useAsked(
    (signal) => api.get<VersionList>(`${path}/versions`, { limit: MOST }, signal),
    [skill.name, skill.updated_at, skill.newest],
  );
  const [chosen, setChosen] = useState<number | null>(null);
  const wanted = chosen ?? skill.proposed ?? skill.version ?? skill.newest;
  const version = answer?.versions.find((each) => each.number === wanted) ?? null;
  const act = (work: () => Promise<unknown>, words: string) => {
    work()
      .then(() => {
        tell(words);
        onChange();
        again();
      })
      .catch(tellFailure);
  };
  return (
    <>
      <Summary skill={skill} />
      <Actions skill={skill} path={path} act={act} />
      {error !== null && <Failure error={error} onRetry={again} />}
      {!answer && error === null && <Loading what="Loading" />}
      {answer && (
        <div class="skill-choice">
          <Select
            label="Version"
            value={String(wanted)}
            onChange={(value) => setChosen(Number(value))}
            options={answer.versions.map((each) => ({
              value: String(each.number),
              label: [`Version ${each.number}`, each.label, each.number === skill.version ? "in use" : each.standing].filter(Boolean).join(" · "),
            }))}
          />
        </div>
      )}
      {version && (
        <>
          {version.standing === "proposed" && <Decision path={path} number={version.number} act={act} />}
          {version.standing === "approved" && version.number !== skill.version && (
            <div class="row">
              <Button icon="retry" onClick={() => act(() => api.post(`${path}/rollback`, { version: version.number }), `Version ${version.number} is active.`)}>
                Use version {version.number} again
              </Button>
            </div>
          )}
          <VersionView key={version.number} version={version} path={path} />
          {answer && answer.versions.length > 1 && <Difference key={`d${version.number}`} path={path} versions={answer.versions} shown={version.number} />}
        </>
      )}
    </>
  );
}

function Summary({ skill }: { skill: SkillResponse }) {
  const { word, tone } = stateOf(skill);
  return (
    <div class="stack skill-summary">
      <div class="row">
        <Tag tone={tone}>{word}</Tag>
        {skill.version !== null && <Tag>version {skill.version}</Tag>}
        {skill.proposed !== null && <Tag tone="warn">version {skill.proposed} needs approval</Tag>}
        <span class="soft small">
          {callsOf(skill)}
          {skill.used_at && (
            <>
              , last <Time at={skill.used_at} />
            </>
          )}
        </span>
      </div>
      <p class="kept">{skill.description}</p>
      {skill.note && (
        <p class="note">
          <Icon name="info" />
          {skill.note}
        </p>
      )}
    </div>
  );
}

interface Acting {
  path: string;
  act: (work: () => Promise<unknown>, words: string) => void;
}

function Decision({ path, number, act }: Acting & { number: number }) {
  return (
    <div class="decision" role="group" aria-label={`Decide about version ${number}`}>
      <p class="grow">
        Version {number} needs your approval. Check what it does; once approved, the agent may call it.
      </p>
      <Button kind="main" icon="check" onClick={() => act(() => api.post(`${path}/approve`, { version: number }), `Version ${number} approved.`)}>
        Approve
      </Button>
      <Button kind="danger" icon="close" onClick={() => act(() => api.post(`${path}/reject`, { version: number }), `Version ${number} was rejected.`)}>
        Reject
      </Button>
    </div>
  );
}

function Actions({ skill, path, act }: Acting & { skill: SkillResponse }) {
  const [deleting, setDeleting] = useState(false);
  const remove = () => {
    api
      .delete(path)
      .then(() => {
        tell(`${skill.name} was deleted.`);
        replace("tools");
      })
      .catch(tellFailure);
  };
  return (
    <div class="row">
      {skill.state === "enabled" && (
        <Button icon="stop" onClick={() => act(() => api.post(`${path}/disable`), `${skill.name} disabled.`)}>
          Disable
        </Button>
      )}
      {skill.state === "disabled" && (
        <Button icon="check" onClick={() => act(() => api.post(`${path}/enable`), `${skill.name} enabled.`)}>
          Enable
        </Button>
      )}
      <a class="button" href={address("/api/skills/export", { name: skill.name })} download={`${skill.name}.py`}>
        <Icon name="download" />
        Export
      </a>
      <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {deleting && (
        <Confirm title={`Delete ${skill.name}?`} action="Delete" danger onConfirm={remove} onClose={() => setDeleting(false)}>
          All its versions will be deleted. This cannot be undone; disabling can.
        </Confirm>
      )}
    </div>
  );
}
