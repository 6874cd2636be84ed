"""A grant: a remembered answer to an approval."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import TypeAdapter

from long_running_agents.domain.call import Call
from long_running_agents.domain.ids import GrantId, SessionId
from long_running_agents.domain.shell import UNKNOWN
from long_running_agents.domain.tool import Power
from long_running_agents.domain.workspace import WORKSPACE


class Lasting(StrEnum):
    """How long an answer is good for."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What an answer is about: calls that need no more than this."""

    tool: str
    programs: tuple[str, ...] = ()
    """Programs, or packages."""
    folders: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    """What is risky about it, each by itself: never wider than what the person saw."""
    hosts: tuple[str, ...] = ()
    network: bool = False

    def covers(self, other: "Scope") -> bool:
        """Whether a call with that scope needs no more than this."""
        return (
            self.tool == other.tool
            and self.network >= other.network
            and set(other.programs) <= set(self.programs)
            and set(other.risks) <= set(self.risks)
            and set(other.hosts) <= set(self.hosts)
            and all(
                any(f"{folder}/".startswith(f"{mine}/") for mine in self.folders)
                for folder in other.folders
            )
            # Where an answer was about some of these, it was not about calls without any.
            and bool(self.programs) == bool(other.programs)
            and bool(self.hosts) == bool(other.hosts)
            and bool(self.folders) == bool(other.folders)
        )

    def __str__(self) -> str:
        parts = [self.tool]
        if self.programs:
            parts.append(f"with {', '.join(self.programs)}")
        if self.folders:
            parts.append(f"in {', '.join(map(_shown, self.folders))}")
        if self.hosts:
            parts.append(f"at {', '.join(self.hosts)}")
        if self.risks:
            parts.append(f"on {', '.join(map(_shown, self.risks))}")
        if self.network:
            parts.append("over the network")
        return " ".join(parts)


SCOPE: TypeAdapter[Scope] = TypeAdapter(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An answer that is good for later calls, too."""

    id: GrantId
    owner: str
    session_id: SessionId | None
    """The only session it is good for; None for all."""
    scope: Scope
    created_at: datetime
    used: int = 0
    """How many calls it has let through."""
    revoked_at: datetime | None = None


def scope_of(call: Call) -> Scope | None:
    """What a lasting answer to a call would cover; None when it can be answered once only."""
    if UNKNOWN in call.programs or UNKNOWN in call.hosts:
        return None
    risks = tuple(sorted({risk.subject or risk.reason for risk in call.hazards}))
    return Scope(
        tool=call.tool,
        programs=tuple(sorted(call.programs)),
        folders=() if risks else tuple(sorted(call.folders)),
        risks=risks,
        hosts=tuple(sorted(call.hosts)),
        network=Power.SEND in call.powers,
    )


def _shown(path: str) -> str:
    if path == WORKSPACE:
        return "the workspace"
    return path.removeprefix(f"{WORKSPACE}/")
