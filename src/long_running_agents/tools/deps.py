"""What a tool can touch."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from long_running_agents.domain.events import Recorded
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.domain.turn import Turn
from long_running_agents.memory.memories import Memories
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.sandbox.workspace import Workspace
from long_running_agents.skills.library import Library
from long_running_agents.store.database import Database
from long_running_agents.web.web import Web

Tell = Callable[[str], Awaitable[None]]
"""Says that a result holds words from somewhere outside, and from where, before it is told."""


Consent = Callable[[str, str], Awaitable[bool]]
"""Has a person agree to what a call, by its id, turned out to need; not, if nobody is there."""


async def _nobody(_: str) -> None:
    """Nobody has to know."""


async def _never(_: str, __: str) -> bool:
    """Nobody is there."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDeps:
    """Everything a tool can touch, on one screen."""

    turn: Turn
    clock: Clock
    database: Database
    announce: Callable[[Sequence[Recorded]], None]
    """Ring events that a tool has stored."""
    owner: str = MINE
    agent: str = "lra"
    """What the agent is called."""
    memories: Memories | None = None
    """What is remembered; None when that is switched off."""
    workspace: Workspace | None = None
    """The agent's folder, and no way out of it."""
    sandboxes: SessionSandboxes | None = None
    """Where code runs."""
    web: Web | None = None
    """The web."""
    skills: Library | None = None
    """Tools that were made; None when that is switched off."""
    taint: Tell = _nobody
    consent: Consent = _never
    looking: bool = False
    """Whether it is only looked what would be offered: then nothing is called, begun or kept."""


MakeDeps = Callable[[Turn, Tell, Consent], TurnDeps]
"""Gives a turn what its tools can touch."""


def for_a_look(make: MakeDeps, turn: Turn) -> TurnDeps:
    """What tools are told when it is only looked which of them would be offered."""
    return replace(make(turn, _nobody, _never), looking=True)
