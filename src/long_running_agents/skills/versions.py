"""Changes to skills: each in one transaction, with its entry in the audit log."""

import json
from datetime import datetime
from difflib import unified_diff

from long_running_agents.domain.events import EventEnvelope, SkillChanged
from long_running_agents.domain.skill import Skill, SkillApproval, SkillKind, SkillOrigin, Version
from long_running_agents.errors import Busy, Denied
from long_running_agents.store import decisions, events, skills
from long_running_agents.store.database import Transaction


def noted(tx: Transaction, action: str, version: Version, by: str, now: datetime) -> None:
    """Write into the audit log what was done to a skill."""
    detail = f"version {version.number}, sha256 {version.digest}, owner {version.owner}"
    entry = decisions.AuditEntry(
        at=now, actor=by, action=f"skill.{action}", subject=version.name, detail=detail
    )
    decisions.note_admin(tx, entry)


def tell(
    tx: Transaction, where: SkillOrigin, version: Version, change: str, why: str, now: datetime
) -> list[EventEnvelope]:
    """Tell the conversation in which it happened, if it happened in one."""
    if where.session_id is None or where.turn_id is None:
        return []
    event = SkillChanged(name=version.name, version=version.number, change=change, note=why)
    return events.append(tx, where.session_id, where.turn_id, [event], now)


def chosen(tx: Transaction, skill: Skill, number: int | None) -> Version:
    """The version that is meant: a given one, or the one that waits."""
    wanted = number or skill.proposed
    if wanted is None:
        raise Busy(
            f"No version of {skill.name!r} waits for an answer.",
            hint=f"'lra skills versions {skill.name}' shows them; name one with --version.",
        )
    return skills.version(tx, skill.owner, skill.name, wanted)


def approve(tx: Transaction, version: Version, by: str, now: datetime) -> None:
    """Let a version be used from now on."""
    if not version.trial.passed:
        raise Denied(f"{version.name!r} version {version.number} did not pass its trial.")
    skills.decide(tx, version, SkillApproval.APPROVED, by=by, now=now)
    skills.use(tx, version, now)
    noted(tx, "approve", version, by, now)


def reject(tx: Transaction, version: Version, by: str, now: datetime) -> None:
    """Say no to a version."""
    skill = skills.get(tx, version.owner, version.name)
    if skill.uses(version.number):
        raise Busy(
            f"Version {version.number} of {version.name!r} is in use.",
            hint="Disable the skill, or roll it back, first.",
        )
    skills.decide(tx, version, SkillApproval.REJECTED, by=by, now=now)
    noted(tx, "reject", version, by, now)


def bring_back(tx: Transaction, version: Version, by: str, now: datetime) -> None:
    """Use an approved version again."""
    if version.standing is not SkillApproval.APPROVED:
        raise Denied(
            f"Version {version.number} of {version.name!r} is {version.standing}.",
            hint="Only a version that was approved can be brought back; approve it first.",
        )
    skills.use(tx, version, now)
    noted(tx, "use", version, by, now)


_LONGEST = 20_000
"""Lines from which on two texts are only said to differ: comparing them would take minutes."""


def diff(old: Version, new: Version) -> str:
    """A unified diff of two versions; empty when they are equal.

    The first part is about what stands beside the source, such as limits and the description.
    """
    before, after = f"version {old.number}", f"version {new.number}"
    parts = [_compared(_header(old), _header(new), f"{before}: settings", f"{after}: settings")]
    old_texts, new_texts = _texts(old), _texts(new)
    paths = [*old_texts, *(path for path in new_texts if path not in old_texts)]
    parts += [
        _compared(
            old_texts.get(path, ""),
            new_texts.get(path, ""),
            f"{before}: {path}" if path in old_texts else "/dev/null",
            f"{after}: {path}" if path in new_texts else "/dev/null",
        )
        for path in paths
    ]
    return "".join(parts)


def _texts(version: Version) -> dict[str, str]:
    first = "SKILL.md" if version.kind is SkillKind.GUIDE else f"{version.name}.py"
    return {first: version.source} | {file.path: file.content for file in version.files}


def _header(version: Version) -> str:
    told = {
        "function": version.interface.function,
        "label": version.label,
        "description": version.interface.description,
        "timeout": version.limits.timeout,
        "memory": version.limits.memory,
        "safe mode": version.safe_mode,
        "allowed imports": sorted(version.allowed_imports),
        **{
            f"example {number}": [each.args, *([each.result] if each.checked else [])]
            for number, each in enumerate(version.examples, start=1)
        },
    }
    return "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}\n"
        for key, value in told.items()
    )


def _compared(old: str, new: str, before: str, after: str) -> str:
    if old == new and "/dev/null" not in (before, after):
        return ""
    lines, others = old.split("\n"), new.split("\n")
    if max(len(lines), len(others)) > _LONGEST:
        return f"--- {before}\n+++ {after}\nThey differ, and are too long to be compared.\n"
    found = list(unified_diff(lines, others, before, after, lineterm=""))
    # A file without a line has no difference of its own, and yet came or went.
    return "".join(f"{line}\n" for line in found or [f"--- {before}", f"+++ {after}"])
