"""How a turn can come to rest."""

from dataclasses import dataclass
from typing import assert_never

from long_running_agents.domain.budget import LimitHit
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import LraError


@dataclass(frozen=True, slots=True)
class Answered:
    """The model gave its final answer."""

    text: str
    model: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Calls wait for a person."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A person stopped the turn."""

    words: str
    """What had been written by then."""
    begun: frozenset[str] | None = None
    """The calls that had begun to run, or None when nobody knows."""


@dataclass(frozen=True, slots=True)
class Limited:
    """A budget was used up."""

    hit: LimitHit


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn could not go on."""

    error: LraError


Outcome = Answered | Waiting | Stopped | Limited | Failed


def status_of(outcome: Outcome) -> TurnStatus:
    """Where a turn stands after it came to rest."""
    match outcome:
        case Answered():
            return TurnStatus.DONE
        case Waiting():
            return TurnStatus.WAITING
        case Stopped():
            return TurnStatus.STOPPED
        case Limited():
            return TurnStatus.LIMITED
        case Failed():
            return TurnStatus.FAILED
        case _:
            assert_never(outcome)
