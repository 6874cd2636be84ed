"""What a tool can touch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from long_running_agents.domain.events import Recorded
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.domain.turn import Turn
from long_running_agents.memory.memories import Memories
from long_running_agents.store.database import Database
from long_running_agents.web.web import Web


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
    web: Web | None = None
    """The web; None when that is switched off."""
