"""Changes to skills: each in one transaction, with its entry in the audit log."""

from datetime import datetime

from long_running_agents.domain.events import Recorded, SkillChanged
from long_running_agents.domain.skill import Brought, Skill, Standing, Version
from long_running_agents.errors import Busy, Denied
from long_running_agents.store import audit, events, skills
from long_running_agents.store.database import Transaction


def note(tx: Transaction, action: str, version: Version, by: str, now: datetime) -> None:
    """Write into the audit log what was done to a skill."""
    detail = f"version {version.number}, sha256 {version.digest}, owner {version.owner}"
    entry = audit.Entry(
        at=now, actor=by, action=f"skill.{action}", subject=version.name, detail=detail
    )
    audit.note(tx, entry)


def tell(
    tx: Transaction, where: Brought, version: Version, change: str, why: str, now: datetime
) -> list[Recorded]:
    """Tell the conversation in which it happened, if it happened in one."""
    if where.session_id is None or where.turn_id is None:
        return []
    event = SkillChanged(name=version.name, version=version.number, change=change, note=why)
    return events.append(tx, where.session_id, where.turn_id, [event], now)


def chosen(tx: Transaction, skill: Skill, number: int | None) -> Version:
    """The version that is meant: a given one, or the one that waits.

    Raises:
        Busy: None waits.
        NotFound: There is no such version.
    """
    wanted = number or skill.proposed
    if wanted is None:
        raise Busy(
            f"No version of {skill.name!r} waits for an answer.",
            hint=f"'lra skills versions {skill.name}' shows them; name one with --version.",
        )
    return skills.version(tx, skill.owner, skill.name, wanted)


def approve(tx: Transaction, version: Version, by: str, now: datetime) -> None:
    """Let a version be used from now on.

    Raises:
        Denied: It did not pass its trial.
    """
    if not version.trial.passed:
        raise Denied(f"{version.name!r} version {version.number} did not pass its trial.")
    skills.decide(tx, version, Standing.APPROVED, by=by, now=now)
    skills.use(tx, version, now)
    note(tx, "approve", version, by, now)


def reject(tx: Transaction, version: Version, by: str, now: datetime) -> None:
    """Say no to a version.

    Raises:
        Busy: It is in use.
    """
    skill = skills.get(tx, version.owner, version.name)
    if skill.uses(version.number):
        raise Busy(
            f"Version {version.number} of {version.name!r} is in use.",
            hint="Disable the skill, or roll it back, first.",
        )
    skills.decide(tx, version, Standing.REJECTED, by=by, now=now)
    note(tx, "reject", version, by, now)


def bring_back(tx: Transaction, version: Version, by: str, now: datetime) -> None:
    """Use an approved version again.

    Raises:
        Denied: Nobody has approved it.
    """
    if version.standing is not Standing.APPROVED:
        raise Denied(
            f"Version {version.number} of {version.name!r} is {version.standing}.",
            hint="Only a version that was approved can be brought back; approve it first.",
        )
    skills.use(tx, version, now)
    note(tx, "use", version, by, now)
