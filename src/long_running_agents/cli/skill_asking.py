"""What a person at the prompt is told of skills that wait for a yes."""

from typing import TYPE_CHECKING

from long_running_agents.cli import asking
from long_running_agents.cli.code import block
from long_running_agents.cli.skill_showing import COMMAND, finding_line, waiting_line
from long_running_agents.domain.skill import Version
from long_running_agents.errors import LraError

if TYPE_CHECKING:
    from long_running_agents.cli.desk import Desk
    from long_running_agents.domain.approval import Approval

_MAKERS = frozenset({"generate_tool", "promote_skill"})


async def waiting_at(desk: "Desk", command: str = COMMAND) -> str:
    """What waits for approval, on one line; empty when nothing does, or nobody knows.

    Args:
        desk: Where the skills are.
        command: By which a person decides about skills.
    """
    if desk.skills is None:
        return ""
    try:
        return waiting_line(await desk.skills.every(), command)
    except LraError:
        # A server may have them switched off; that is no reason not to talk.
        return ""


async def code_asked_about(desk: "Desk", approval: "Approval") -> str:
    """The code that a question is about, unless its arguments show it; empty when there is none.

    Args:
        desk: Where the skills are.
        approval: The question.
    """
    if approval.tool not in _MAKERS or desk.skills is None:
        return ""
    try:
        version = await _proposed_by(desk, approval)
    except LraError:
        return ""
    if version is None:
        return ""
    given = asking.arguments(approval) or {}
    shown = str(given.get("code", "")).strip() == version.source.strip()
    lines = [f"{version.name}, version {version.number}:"]
    lines += [] if shown else [block(version.source)]
    lines += [finding_line(finding) for finding in version.warnings]
    return "" if len(lines) == 1 else "\n".join(lines)


async def _proposed_by(desk: "Desk", approval: "Approval") -> Version | None:
    """The version that a call has proposed."""
    assert desk.skills is not None, "asked before"  # noqa: S101 - for the type checker
    for skill in await desk.skills.every():
        if skill.proposed is not None:
            version = await desk.skills.version(skill.name, skill.proposed)
            if version.brought.call_id == approval.call_id:
                return version
    return None
