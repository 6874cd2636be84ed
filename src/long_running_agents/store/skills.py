"""Skills and their versions. A version is written once; only its standing changes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from pydantic import TypeAdapter
from sqlalchemy import CursorResult, Row, Select, and_, case, delete, func, insert, select, update

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.skill import (
    Brought,
    Example,
    File,
    Finding,
    Interface,
    Kind,
    Limits,
    Skill,
    Standing,
    Trial,
    Version,
)
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.skill_tables import skill_versions, skills


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """What a version is beside its source."""

    interface: Interface
    limits: Limits
    safe_mode: bool
    allowed_imports: tuple[str, ...]
    examples: tuple[Example, ...]
    files: tuple[File, ...]
    label: str
    brought: Brought
    warnings: tuple[Finding, ...]
    trial: Trial


_ABOUT: TypeAdapter[_About] = TypeAdapter(_About)


def put(tx: Transaction, version: Version) -> None:
    """Keep a version, and the skill with its first one."""
    here = _is(version.owner, version.name)
    if tx.execute(select(skills.c.name).where(here)).first() is None:
        tx.execute(
            insert(skills),
            {
                "owner": version.owner,
                "name": version.name,
                "kind": version.kind,
                "enabled": False,
                "created_at": version.created_at,
                "updated_at": version.created_at,
            },
        )
    about = _About(
        interface=version.interface,
        limits=version.limits,
        safe_mode=version.safe_mode,
        allowed_imports=version.allowed_imports,
        examples=version.examples,
        files=version.files,
        label=version.label,
        brought=version.brought,
        warnings=version.warnings,
        trial=version.trial,
    )
    tx.execute(
        insert(skill_versions),
        {
            "owner": version.owner,
            "name": version.name,
            "number": version.number,
            "kind": version.kind,
            "digest": version.digest,
            "source": version.source,
            "about": tx.redact.json(_ABOUT.dump_json(about).decode()),
            "description": tx.redact(version.interface.description),
            "created_at": version.created_at,
            "standing": version.standing,
            "decided_by": version.decided_by,
            "decided_at": version.decided_at,
            "turn_id": version.brought.turn_id,
            "call_id": version.brought.call_id,
        },
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
    row = tx.execute(_listing().where(_is(owner, name))).first()
    if row is None:
        raise NotFound(f"No skill {name!r}.", hint="'lra skills list' shows them.")
    return _skill(row)


def in_use(tx: Transaction, owner: str) -> list[Version]:
    """The versions that an owner's agent uses, by name."""
    query = (
        select(skill_versions)
        .join(
            skills,
            and_(
                skills.c.owner == skill_versions.c.owner,
                skills.c.name == skill_versions.c.name,
                skills.c.version == skill_versions.c.number,
            ),
        )
        .where(skills.c.owner == owner, skills.c.enabled)
    )
    return [_version(row) for row in tx.execute(query.order_by(skills.c.name))]


def versions(tx: Transaction, owner: str, name: str) -> list[Version]:
    """All versions of a skill, the newest first."""
    query = select(skill_versions).where(
        skill_versions.c.owner == owner, skill_versions.c.name == name
    )
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
    row = tx.execute(select(skill_versions).where(_is_version(owner, name, number))).first()
    if row is None:
        raise NotFound(
            f"The skill {name!r} has no version {number}.",
            hint=f"'lra skills versions {name}' shows them.",
        )
    return _version(row)


def decide(tx: Transaction, found: Version, standing: Standing, *, by: str, now: datetime) -> None:
    """Write down what was said about a version."""
    tx.execute(
        update(skill_versions)
        .where(_is_version(found.owner, found.name, found.number))
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
        used_at=now,
    )


def remove(tx: Transaction, owner: str, name: str) -> None:
    """Forget a skill with all its versions."""
    tx.execute(
        delete(skill_versions).where(skill_versions.c.owner == owner, skill_versions.c.name == name)
    )
    tx.execute(delete(skills).where(_is(owner, name)))


def refuse(tx: Transaction, turn_id: TurnId, call_id: str, *, by: str, now: datetime) -> None:
    """A no to the call that proposed a version is a no to the version."""
    tx.execute(
        update(skill_versions)
        .where(
            skill_versions.c.turn_id == turn_id,
            skill_versions.c.call_id == call_id,
            skill_versions.c.standing == Standing.PROPOSED,
        )
        .values(standing=Standing.REJECTED, decided_by=by, decided_at=now)
    )


def _is(owner: str, name: str) -> Any:
    return and_(skills.c.owner == owner, skills.c.name == name)


def _is_version(owner: str, name: str, number: int) -> Any:
    return and_(
        skill_versions.c.owner == owner,
        skill_versions.c.name == name,
        skill_versions.c.number == number,
    )


def _change(tx: Transaction, owner: str, name: str, **values: Any) -> bool:
    found = tx.execute(update(skills).where(_is(owner, name)).values(**values))
    return bool(cast("CursorResult[Any]", found).rowcount)


def _listing() -> Select[Any]:
    """Skills with their newest versions, and the description of the one in use or the newest."""
    waits = case((skill_versions.c.standing == Standing.PROPOSED, skill_versions.c.number))
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
        .join(numbers, and_(numbers.c.owner == skills.c.owner, numbers.c.name == skills.c.name))
        .join(
            skill_versions,
            and_(
                skill_versions.c.owner == skills.c.owner,
                skill_versions.c.name == skills.c.name,
                skill_versions.c.number == shown,
            ),
        )
    )


def _skill(row: Row[Any]) -> Skill:
    return Skill(
        owner=row.owner,
        name=row.name,
        kind=Kind(row.kind),
        enabled=bool(row.enabled),
        version=row.version,
        newest=row.newest,
        # What was proposed before the version in use is history.
        proposed=row.proposed if (row.proposed or 0) > (row.version or 0) else None,
        description=row.description,
        created_at=row.created_at,
        updated_at=row.updated_at,
        calls=row.calls,
        failures=row.failures,
        failures_in_a_row=row.failures_in_a_row,
        used_at=row.used_at,
        note=row.note,
    )


def _version(row: Row[Any]) -> Version:
    about = _ABOUT.validate_json(row.about)
    return Version(
        owner=row.owner,
        name=row.name,
        number=row.number,
        kind=Kind(row.kind),
        digest=row.digest,
        source=row.source,
        interface=about.interface,
        limits=about.limits,
        safe_mode=about.safe_mode,
        allowed_imports=about.allowed_imports,
        examples=about.examples,
        files=about.files,
        label=about.label,
        brought=about.brought,
        created_at=row.created_at,
        warnings=about.warnings,
        trial=about.trial,
        standing=Standing(row.standing),
        decided_by=row.decided_by,
        decided_at=row.decided_at,
    )
