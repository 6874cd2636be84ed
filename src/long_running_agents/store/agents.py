"""Agents: their versions, which of them are in use, and what people said was for them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, case, func, insert, select, update

from long_running_agents.domain.agent import (
    LOOKED_BACK,
    AgentDraft,
    AgentSpec,
    AgentStage,
    AgentStats,
    TurnCost,
    anomalies,
    as_draft,
    content,
    label_parts,
    percentile,
    said_by,
)
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.domain.work import EvidenceState
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.tables import agent_examples, agents, evidence, turns

_ENDED = [status for status in TurnStatus if status.ended]
_TIMED = 1_000
"""Turns of a version whose seconds are looked at."""
_ERRORS = 3


@lru_cache(maxsize=4096)
def _draft(body: str) -> AgentDraft:
    """What a version says: it never changes, so it is read once."""
    return as_draft(json.loads(body))


def _spec(row: Any) -> AgentSpec:
    return AgentSpec(
        **said_by(_draft(row.body)),
        version=row.version,
        stage=AgentStage(row.stage),
        origin=row.origin,
        warnings=tuple(json.loads(row.warnings)),
        created_at=row.created_at,
        owner=row.owner,
    )


def add(tx: Transaction, spec: AgentSpec) -> AgentSpec:
    """Store the next version of an agent; the newest comes back if it says the same."""
    known = history(tx, spec.owner, spec.name)
    body = tx.redact.json(json.dumps(content(spec), ensure_ascii=False, sort_keys=True))
    stored = replace(spec, **said_by(_draft(body)), version=known[0].version + 1 if known else 1)
    if known and known[0].digest == stored.digest and known[0].stage is not AgentStage.RETIRED:
        return known[0]
    tx.execute(
        insert(agents).values(
            owner=spec.owner,
            name=spec.name,
            version=stored.version,
            stage=AgentStage.DRAFT,
            digest=stored.digest,
            origin=spec.origin,
            body=body,
            warnings=json.dumps(spec.warnings),
            revision=revision(tx, spec.owner) + 1,
            created_at=spec.created_at,
        )
    )
    return replace(stored, stage=AgentStage.DRAFT)


def history(tx: Transaction, owner: str, name: str) -> list[AgentSpec]:
    """All versions of an agent, the newest first."""
    query = select(agents).where(agents.c.owner == owner, agents.c.name == name)
    return [_spec(row) for row in tx.execute(query.order_by(agents.c.version.desc()))]


_NAMED = select(agents).where(
    agents.c.owner == bindparam("owner"), agents.c.name == bindparam("name")
)
_IN_USE = Prepared(_NAMED.where(agents.c.stage == bindparam("stage")))
_VERSION = Prepared(_NAMED.where(agents.c.version == bindparam("version")))


def find(tx: Transaction, owner: str, label: str) -> AgentSpec | None:
    """The version that a label names, or the published one; None when there is none."""
    name, version = label_parts(label)
    asked = {"owner": owner, "name": name, "version": version, "stage": AgentStage.PUBLISHED}
    row = tx.first(_IN_USE if version is None else _VERSION, asked)
    return None if row is None else _spec(row)


def get(tx: Transaction, owner: str, label: str) -> AgentSpec:
    """Look up a version that must be there."""
    if (found := find(tx, owner, label)) is None:
        what = "version" if "@" in label else "published agent"
        raise NotFound(f"No {what} {label!r}.", hint="'lra agents list' shows the agents.")
    return found


def published(tx: Transaction, owner: str) -> list[AgentSpec]:
    """The versions that are in use, by name."""
    query = select(agents).where(agents.c.owner == owner, agents.c.stage == AgentStage.PUBLISHED)
    return [_spec(row) for row in tx.execute(query.order_by(agents.c.name))]


def every(tx: Transaction, owner: str) -> list[AgentSpec]:
    """Of each agent the version in use, or else the newest, by name."""
    query = select(agents).where(agents.c.owner == owner)
    rows = tx.execute(query.order_by(agents.c.name, agents.c.version)).all()
    chosen = {row.name: row for row in rows}
    chosen |= {row.name: row for row in rows if row.stage == AgentStage.PUBLISHED}
    return [_spec(row) for row in chosen.values()]


def publish(tx: Transaction, spec: AgentSpec) -> AgentSpec:
    """Use a version; the one before is retired."""
    retire(tx, spec.owner, spec.name)
    _set(tx, spec, AgentStage.PUBLISHED)
    return replace(spec, stage=AgentStage.PUBLISHED)


def retire(tx: Transaction, owner: str, name: str) -> AgentSpec | None:
    """Use no version of an agent any more; the one that was in use comes back."""
    if (used := find(tx, owner, name)) is None:
        return None
    _set(tx, used, AgentStage.RETIRED)
    return replace(used, stage=AgentStage.RETIRED)


def _set(tx: Transaction, spec: AgentSpec, stage: AgentStage) -> None:
    mine = (agents.c.owner == spec.owner) & (agents.c.name == spec.name)
    tx.execute(
        update(agents)
        .where(mine, agents.c.version == spec.version)
        .values(stage=stage, revision=revision(tx, spec.owner) + 1)
    )


_REVISION = Prepared(
    select(func.max(agents.c.revision)).where(agents.c.owner == bindparam("owner"))
)


def revision(tx: Transaction, owner: str) -> int:
    """A number that grows with every change of an owner's agents."""
    row = tx.run(_REVISION, {"owner": owner})
    return 0 if row is None else int(row[0] or 0)


def learn(tx: Transaction, spec: AgentSpec, text: str, now: datetime) -> None:
    """Note that what somebody said is for an agent, and for no other."""
    said = tx.redact(text)
    tx.execute(
        agent_examples.delete().where(
            agent_examples.c.owner == spec.owner, agent_examples.c.text == said
        )
    )
    values = {"owner": spec.owner, "agent": spec.name, "text": said, "at": now}
    tx.execute(insert(agent_examples).values(values))
    _set(tx, spec, spec.stage)


def learned(tx: Transaction, owner: str) -> dict[str, Sequence[str]]:
    """What people said was for an agent, by its name."""
    found: dict[str, list[str]] = {}
    query = select(agent_examples).where(agent_examples.c.owner == owner)
    for row in tx.execute(query.order_by(agent_examples.c.at)):
        found.setdefault(row.agent, []).append(row.text)
    return {name: tuple(texts) for name, texts in found.items()}


def costs(tx: Transaction, owner: str, label: str, most: int = LOOKED_BACK + 1) -> list[TurnCost]:
    """What the ended turns of a version took, the newest first."""
    tokens = turns.c.input_tokens + turns.c.output_tokens
    query = select(tokens, turns.c.seconds).where(*_of_version(owner, label))
    rows = tx.execute(query.order_by(turns.c.created_at.desc()).limit(most))
    return [TurnCost(int(row[0]), float(row[1])) for row in rows]


def stats(tx: Transaction, owner: str, label: str) -> AgentStats | None:
    """How a version has done; None while it has done nothing."""
    mine = _of_version(owner, label)
    done = func.sum(case((turns.c.status == TurnStatus.DONE, 1), else_=0))
    tokens = func.sum(turns.c.input_tokens + turns.c.output_tokens)
    query = select(func.count(), done, tokens, func.sum(turns.c.cost)).where(*mine)
    count, finished, used, cost = tx.execute(query).one()
    if not count:
        return None
    newest = turns.c.created_at.desc()
    wrong = select(turns.c.error).where(*mine, turns.c.error != "").order_by(newest)
    found = (evidence.c.work_id == turns.c.work_id) & (evidence.c.turn == turns.c.number)
    refuted = select(func.count()).where(*mine, found, evidence.c.state == EvidenceState.REFUTED)
    timed = costs(tx, owner, label, _TIMED)
    seconds = [each.seconds for each in timed]
    return AgentStats(
        agent=label,
        turns=count,
        done=finished,
        refuted=tx.execute(refuted).scalar() or 0,
        tokens=used,
        cost=cost,
        p50_seconds=percentile(seconds, 0.5),
        p95_seconds=percentile(seconds, 0.95),
        errors=tuple(tx.execute(wrong.limit(_ERRORS)).scalars()),
        anomalies=anomalies(timed[0], timed[1:]),
    )


def _of_version(owner: str, label: str) -> tuple[Any, ...]:
    ended = turns.c.status.in_(_ENDED)
    return turns.c.owner == owner, turns.c.agent == label, ended
