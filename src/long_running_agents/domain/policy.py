"""May this call run? Decided here, acted on at the gate."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person has to say."""

    reason: str


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run."""

    reason: str


Decision = Allow | Ask | Deny


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the settings say about tools."""

    allow: Collection[str] | None = None
    """Tools that may run at all; None means every tool that exists."""
    require_approval: Collection[str] = ()
    """Tools that run only after a person agreed."""


def decide(tool: str, rules: Rules, *, attended: bool) -> Decision:
    """Decide about a call of a tool."""
    if rules.allow is not None and tool not in rules.allow:
        return Deny(f"{tool!r} is not among the allowed tools (agent.tools.allow)")
    if tool in rules.require_approval:
        if not attended:
            return Deny(f"{tool!r} needs an approval and nobody is there to give it")
        return Ask(f"{tool!r} is in agent.tools.require_approval")
    return Allow()
