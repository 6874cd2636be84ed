"""Onlookers: whoever counts or traces what is done for all owners, and changes nothing."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from long_running_agents.domain.events import Recorded
from long_running_agents.domain.turn import Turn

INTERRUPTED = "interrupted"
"""How a stretch of work ends that was cut off: the turn goes on when the home is opened again."""


@dataclass(slots=True)
class Seen:
    """A turn at work, from where it is picked up to where it comes to rest."""

    turn: Turn
    status: str = INTERRUPTED
    """Where it came to; known at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model was asked, retries and fallbacks included."""

    model: str
    """The one that answered, or was asked last."""
    outcome: str
    """done, failed or stopped."""
    seconds: float
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    """US dollars, as far as prices are known."""


class Onlooker:
    """Sees what happens. It overrides what it cares about, returns quickly and raises nothing."""

    def heard(self, recorded: Recorded) -> None:
        """See something that was stored, whoever's it is."""

    def turn(self, seen: Seen) -> AbstractContextManager[None]:
        """Be there while a turn is at work."""
        del seen
        return nullcontext()

    def asked(self, asked: Asked) -> None:
        """See that a model was asked."""

    def offered(self, tools: Iterable[str]) -> None:
        """See which tools a model may call."""

    def lagged(self, seconds: float) -> None:
        """See how late the event loop was."""

    def inside(self) -> Sequence[AbstractCapability[Any]]:
        """What it puts into the agent library, to see more from there."""
        return ()


class Onlookers(Onlooker):
    """All onlookers as one. Most homes have none, and pay nothing."""

    def __init__(self) -> None:
        self._all: list[Onlooker] = []

    @property
    def present(self) -> bool:
        """Whether anybody looks."""
        return bool(self._all)

    def attend(self, onlooker: Onlooker) -> None:
        """See everything from now on."""
        self._all.append(onlooker)

    def heard(self, recorded: Recorded) -> None:
        """Tell all of them."""
        for each in self._all:
            each.heard(recorded)

    @contextmanager
    def turn(self, seen: Seen) -> Generator[None]:
        """Have all of them there."""
        with ExitStack() as stack:
            for each in self._all:
                stack.enter_context(each.turn(seen))
            yield

    def asked(self, asked: Asked) -> None:
        """Tell all of them."""
        for each in self._all:
            each.asked(asked)

    def offered(self, tools: Iterable[str]) -> None:
        """Tell all of them."""
        for each in self._all:
            each.offered(tools)

    def lagged(self, seconds: float) -> None:
        """Tell all of them."""
        for each in self._all:
            each.lagged(seconds)

    def inside(self) -> Sequence[AbstractCapability[Any]]:
        """What all of them put there."""
        return [capability for each in self._all for capability in each.inside()]
