"""Skills, their versions and problems. A version is written once; only its standing changes."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, cast

from pydantic import TypeAdapter
from sqlalchemy import (
    CursorResult,
    FromClause,
    Row,
    Select,
    and_,
    case,
    delete,
    func,
    insert,
    select,
    update,
)

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.skill import MOST_RECENT, Problem, Skill, SkillApproval, Version
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import skill_problems, skill_versions, skills

_VERSION = TypeAdapter(Version)
_COLUMNS = {each.name for each in fields(Version)} & {*skill_versions.c.keys()}
"""What of a version has a column of its own; the rest is JSON."""


def put(tx: Transaction, version: Version) -> None:
    """Keep a version, and the skill with its first one."""
    here = _is(skills, version.owner, version.name)
    if tx.execute(select(skills.c.name).where(here)).first() is None:
        new = row_values(skills, version, enabled=False, updated_at=version.created_at)
        tx.execute(insert(skills), new)
    about = _VERSION.dump_json(version, exclude=_COLUMNS).decode()
    tx.execute(
        insert(skill_versions),
        row_values(
            skill_versions,
            version,
            about=tx.redact.json(about),
            description=tx.redact(version.interface.description),
            turn_id=version.brought.turn_id,
            call_id=version.brought.call_id,
        ),
    )


def every(tx: Transaction, owner: str) -> list[Skill]:
    """All skills of an owner, by name."""
    query = _listing().where(skills.c.owner == owner)
    return [_skill(row) for row in tx.execute(query.order_by(skills.c.name))]


def get(tx: Transaction, owner: str, name: str) -> Skill:
    """One skill.

    Raises:
        NotFound: There is none of this name.
    """
    row = tx.execute(_listing().where(_is(skills, owner, name))).first()
    if row is None:
        raise NotFound(f"No skill {name!r}.", hint="'lra skills list' shows them.")
    return _skill(row)


def in_use(tx: Transaction, owner: str) -> list[Version]:
    """The versions that an owner's agent uses, by name."""
    used = _of_skill(skill_versions, number=skills.c.version)
    query = select(skill_versions).join(skills, used)
    query = query.where(skills.c.owner == owner, skills.c.enabled)
    return [_version(row) for row in tx.execute(query.order_by(skills.c.name))]


def versions(tx: Transaction, owner: str, name: str) -> list[Version]:
    """All versions of a skill, the newest first."""
    query = select(skill_versions).where(_is(skill_versions, owner, name))
    return [_version(row) for row in tx.execute(query.order_by(skill_versions.c.number.desc()))]


def digests(tx: Transaction, owner: str) -> set[str]:
    """What the versions of an owner are made of."""
    query = select(skill_versions.c.digest).where(skill_versions.c.owner == owner)
    return set(tx.execute(query).scalars())


def version(tx: Transaction, owner: str, name: str, number: int) -> Version:
    """One version.

    Raises:
        NotFound: There is no such version.
    """
    get(tx, owner, name)
    this = _is(skill_versions, owner, name, number=number)
    row = tx.execute(select(skill_versions).where(this)).first()
    if row is None:
        raise NotFound(
            f"The skill {name!r} has no version {number}.",
            hint=f"'lra skills versions {name}' shows them.",
        )
    return _version(row)


def decide(
    tx: Transaction, found: Version, standing: SkillApproval, *, by: str, now: datetime
) -> None:
    """Write down what was said about a version."""
    tx.execute(
        update(skill_versions)
        .where(_is(skill_versions, found.owner, found.name, number=found.number))
        .values(standing=standing, decided_by=by, decided_at=now)
    )


def use(tx: Transaction, found: Version, now: datetime) -> None:
    """Let a version be the one in use, with a clean slate."""
    _change(
        tx,
        found.owner,
        found.name,
        version=found.number,
        enabled=True,
        note="",
        failures_in_a_row=0,
        recent="",
        updated_at=now,
    )


def disable(tx: Transaction, owner: str, name: str, note: str, now: datetime) -> None:
    """Let a skill rest."""
    _change(tx, owner, name, enabled=False, note=tx.redact(note), updated_at=now)


def count(tx: Transaction, owner: str, name: str, *, failed: bool, now: datetime) -> bool:
    """Count a call; False when the skill was deleted while it ran."""
    return _change(
        tx,
        owner,
        name,
        calls=skills.c.calls + 1,
        failures=skills.c.failures + int(failed),
        failures_in_a_row=skills.c.failures_in_a_row + 1 if failed else 0,
        recent=func.substr(skills.c.recent + ("x" if failed else "."), -MOST_RECENT),
        used_at=now,
    )


def remove(tx: Transaction, owner: str, name: str) -> None:
    """Forget a skill with all its versions."""
    for table in (skill_versions, skills):
        tx.execute(delete(table).where(_is(table, owner, name)))


def refuse(tx: Transaction, turn_id: TurnId, call_id: str, *, by: str, now: datetime) -> None:
    """A no to the call that proposed a version is a no to the version."""
    tx.execute(
        update(skill_versions)
        .where(
            skill_versions.c.turn_id == turn_id,
            skill_versions.c.call_id == call_id,
            skill_versions.c.standing == SkillApproval.PROPOSED,
        )
        .values(standing=SkillApproval.REJECTED, decided_by=by, decided_at=now)
    )


def _is(table: FromClause, owner: object, name: object, **more: object) -> Any:
    """Whether a row is a skill's, with other columns of these values."""
    wanted = {"owner": owner, "name": name, **more}
    return and_(*(table.c[column] == value for column, value in wanted.items()))


def _of_skill(table: FromClause, **more: object) -> Any:
    return _is(table, skills.c.owner, skills.c.name, **more)


def _change(tx: Transaction, owner: str, name: str, **values: Any) -> bool:
    found = tx.execute(update(skills).where(_is(skills, owner, name)).values(**values))
    return bool(cast("CursorResult[Any]", found).rowcount)


def _listing() -> Select[Any]:
    """Skills with their newest versions, and the description of the one in use or the newest."""
    waits = case((skill_versions.c.standing == SkillApproval.PROPOSED, skill_versions.c.number))
    numbers = (
        select(
            skill_versions.c.owner,
            skill_versions.c.name,
            func.max(skill_versions.c.number).label("newest"),
            func.max(waits).label("proposed"),
        )
        .group_by(skill_versions.c.owner, skill_versions.c.name)
        .subquery()
    )
    shown = func.coalesce(skills.c.version, numbers.c.newest)
    return (
        select(skills, numbers.c.newest, numbers.c.proposed, skill_versions.c.description)
        .join(numbers, _of_skill(numbers))
        .join(skill_versions, _of_skill(skill_versions, number=shown))
    )


def _proposed(row: Row[Any]) -> int | None:
    # What was proposed before the version in use is history.
    return row.proposed if (row.proposed or 0) > (row.version or 0) else None


_skill = row_reader(Skill, proposed=_proposed)
_problem = row_reader(Problem)


def _version(row: Row[Any]) -> Version:
    columns = {name: getattr(row, name) for name in _COLUMNS}
    return _VERSION.validate_python(columns | json.loads(row.about))


def put_problem(tx: Transaction, owner: str, problems: Sequence[Problem]) -> None:
    """Keep what was found in an owner's files, instead of what was found before."""
    tx.execute(delete(skill_problems).where(skill_problems.c.owner == owner))
    if problems:
        tx.execute(
            insert(skill_problems),
            [
                row_values(
                    skill_problems,
                    problem,
                    owner=owner,
                    path=tx.redact(problem.path),
                    error=tx.redact(problem.error),
                )
                for problem in problems
            ],
        )


def every_problem(tx: Transaction, owner: str) -> list[Problem]:
    """What is wrong with an owner's files, by path."""
    query = select(skill_problems).where(skill_problems.c.owner == owner)
    return [_problem(row) for row in tx.execute(query.order_by(skill_problems.c.path))]
