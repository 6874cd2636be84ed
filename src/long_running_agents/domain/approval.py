"""Approvals and grants: the question "may this call run?", its answer, and how far it lasts."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, cast

from pydantic import TypeAdapter

from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId, TurnId
from long_running_agents.domain.shell import UNKNOWN
from long_running_agents.domain.tool import GatedCall, Power
from long_running_agents.domain.workspace import WORKSPACE


class GrantDuration(StrEnum):
    """How long an answer is good for."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantScope:
    """What an answer is about: calls that need no more than this."""

    tool: str
    programs: tuple[str, ...] = ()
    """Programs, or packages."""
    folders: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    """What is risky about it, each by itself: never wider than what the person saw."""
    hosts: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    """Whom a tool of a foreign server is told to reach."""
    network: bool = False

    def covers(self, other: "GrantScope") -> bool:
        """Whether a call with that scope needs no more than this."""
        return (
            self.tool == other.tool
            and self.network >= other.network
            and set(other.programs) <= set(self.programs)
            and set(other.risks) <= set(self.risks)
            and set(other.hosts) <= set(self.hosts)
            and set(other.receivers) <= set(self.receivers)
            and all(
                any(f"{folder}/".startswith(f"{mine}/") for mine in self.folders)
                for folder in other.folders
            )
            # Where an answer was about some of these, it was not about calls without any.
            and bool(self.programs) == bool(other.programs)
            and bool(self.hosts) == bool(other.hosts)
            and bool(self.receivers) == bool(other.receivers)
            and bool(self.folders) == bool(other.folders)
        )

    def __str__(self) -> str:
        told = {
            "with": self.programs,
            "in": map(_shown, self.folders),
            "at": self.hosts,
            "for": self.receivers,
            "on": map(_shown, self.risks),
            "over": ["the network"] if self.network else [],
        }
        joined = {word: ", ".join(each) for word, each in told.items()}
        return " ".join([self.tool, *(f"{word} {each}" for word, each in joined.items() if each)])


SCOPE: TypeAdapter[GrantScope] = TypeAdapter(GrantScope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An answer that is good for later calls, too."""

    id: GrantId
    owner: str
    session_id: SessionId | None
    """The only session it is good for; None for all."""
    scope: GrantScope
    created_at: datetime
    used: int = 0
    """How many calls it has let through."""
    revoked_at: datetime | None = None


def scope_of(call: GatedCall) -> GrantScope | None:
    """What a lasting answer to a call would cover; None when it can be answered once only."""
    if UNKNOWN in call.programs or UNKNOWN in call.hosts:
        return None
    risks = tuple(sorted({risk.subject or risk.reason for risk in call.hazards}))
    return GrantScope(
        tool=call.tool,
        programs=tuple(sorted(call.programs)),
        folders=() if risks else tuple(sorted(call.folders)),
        risks=risks,
        hosts=tuple(sorted(call.hosts)),
        receivers=tuple(sorted(call.receivers)) if call.server else (),
        network=Power.SEND in call.powers,
    )


def _shown(path: str) -> str:
    if path == WORKSPACE:
        return "the workspace"
    return path.removeprefix(f"{WORKSPACE}/")


T = TypeVar("T")


class ApprovalState(StrEnum):
    """Where a question stands."""

    OPEN = "open"
    ALLOWED = "allowed"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    """The turn was stopped before anyone answered."""
    EXPIRED = "expired"
    """Nobody answered in time."""


UNANSWERED = "nobody answered in time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The question whether one tool call may run."""

    id: ApprovalId
    session_id: SessionId
    turn_id: TurnId
    call_id: str
    tool: str
    args: str
    """The arguments as JSON text."""
    question: str
    state: ApprovalState
    reason: str = ""
    """Why it was denied, for the model to read."""
    asked_at: datetime
    answered_at: datetime | None = None
    offer: GrantScope | None = None
    """What a lasting answer would cover; None when it can be answered for this call only."""
    lasting: GrantDuration = GrantDuration.ONCE
    """How long the answer is good for."""
    expires_at: datetime | None = None
    """From when on nobody may answer any more; None for never."""

    def overdue(self, now: datetime) -> bool:
        """Whether it waits for an answer that would come too late."""
        return (
            self.state is ApprovalState.OPEN
            and self.expires_at is not None
            and self.expires_at <= now
        )


_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def visible(value: T) -> T:
    """A value, with what turns text around or hides in it written out: a person decides by it."""
    if isinstance(value, str):
        return cast("T", _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value))
    if isinstance(value, list):
        return cast("T", [visible(item) for item in cast("list[object]", value)])
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return cast("T", {visible(name): visible(item) for name, item in items})
    return value
