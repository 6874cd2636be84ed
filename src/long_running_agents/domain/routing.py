"""Routing: which agent a message is for, by its words and by what was said before."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

AUTO = "auto"
"""Who asks for it leaves the choice of the agent to the router."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCandidate:
    """An agent that a message may be for."""

    agent: str
    """name@version."""
    score: float
    words: tuple[str, ...] = ()
    """What of the message its description, instructions or tools have, the rarest first."""
    near_example: str = ""
    """The sentence for this agent that is most like the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """Which agent a message is for, and why."""

    to: str
    """name@version; empty for the home's own agent."""
    by: Literal["words", "model", "person", "default"]
    """Who decided; "default" when nobody could."""
    margin: float = 0.0
    """By how much the first is better than the second, from 0 to 1."""
    candidates: Sequence[RouteCandidate] = ()
    """The best, the first of them first."""

    @property
    def unsure(self) -> bool:
        """Whether a person should be asked."""
        return self.by == "default" and bool(self.candidates)


def as_json(routing: Routing) -> dict[str, Any]:
    """Why an agent was chosen, as data."""
    return asdict(routing)
