/** The skills there are, and what waits. */

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Empty, Loading } from "../../parts/empty";
import { Failure } from "../../parts/failure";
import { Search } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { ImportFile } from "../../parts/import_file";
import { Tag } from "../../parts/tag";
import { tell } from "../../parts/toast";
import { href } from "../../router";
import { useAsked } from "../../state/asked";
import { api } from "../../wire/api";
import type { SkillList, SkillResponse, VersionList } from "../../wire/responses";
import { callsOf, firstSentence, stateOf } from "./words";

const PAGE = 50;

export function Skills() {
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(PAGE);
  const { answer, error, again } = useAsked(
    (signal) => api.get<SkillList>("/api/skills", { q: search.trim(), limit }, signal),
    [search, limit],
  );
  if (error) return <Failure error={error} onRetry={again} />;
  if (!answer) return <Loading what="Loading" />;
  return (
    <div class="stack">
      <div class="row">
        <div class="lead">
          <Search label="Search skills" value={search} onInput={setSearch} />
        </div>
        <ImportSkills onDone={again} />
        <a class="button" href="/api/skills/export" download="skills.py">
          <Icon name="download" />
          Export
        </a>
      </div>
      {answer.waiting > 0 && (
        <p class="note" role="status">
          <Icon name="approvals" />
          {answer.waiting === 1 ? "1 skill needs your approval." : `${answer.waiting} skills need your approval.`}
        </p>
      )}
      {answer.skills.length === 0 && (
        <Empty icon="spark" title={search ? "No skills found." : "No skills yet."}>
          {!search && <p>A skill is a small Python function that the agent can call. The agent proposes some by itself; you can create one here, or import a module.</p>}
        </Empty>
      )}
      <ul class="lines">
        {answer.skills.map((skill) => (
          <SkillLine key={skill.name} skill={skill} />
        ))}
      </ul>
      {answer.next !== null && (
        <Button kind="quiet" onClick={() => setLimit(limit + PAGE)}>
          Show more of {answer.total}
        </Button>
      )}
    </div>
  );
}

function SkillLine({ skill }: { skill: SkillResponse }) {
  const { word, tone } = stateOf(skill);
  return (
    <li>
      <a class="line" href={href("tools", skill.name)}>
        <span class="line-main">
          <span class="mono line-name">{skill.name}</span>
          <span class="soft small">{firstSentence(skill.description)}</span>
        </span>
        <span class="row line-tags">
          <span class="soft small">{callsOf(skill)}</span>
          {skill.proposed !== null && <Tag tone="warn">version {skill.proposed} needs approval</Tag>}
          <Tag tone={tone}>{word}</Tag>
        </span>
      </a>
    </li>
  );
}

/** A module from a file, all functions of which are proposed. */
function ImportSkills({ onDone }: { onDone: () => void }) {
  const bring = async (chosen: File) => {
    const { versions } = await api.post<VersionList>("/api/skills/import", { source: await chosen.text() });
    tell(versions.length === 1 ? "1 skill imported. It needs your approval." : `${versions.length} skills imported. They need your approval.`);
    onDone();
  };
  return <ImportFile label="A Python module to import" accept=".py,text/x-python" working="Testing" bring={bring} />;
}
