"""Trying a model: does it answer, how fast, and if not, why."""

import asyncio
from dataclasses import dataclass

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError
from long_running_agents.models.cards import greet
from long_running_agents.models.listening import Choice

PATIENCE = 30.0
"""Seconds for a word; some servers load the model first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of it."""

    model: str
    ok: bool
    seconds: float
    """How long it took."""
    error: str = ""
    hint: str = ""


async def try_out(choice: Choice, clock: Clock, *, patience: float = PATIENCE) -> Tried:
    """Ask a model for a word; what goes wrong is what was to be found out.

    Args:
        choice: The model.
        clock: Measures how long it takes.
        patience: Seconds after which it counts as not answering.
    """
    began = clock.monotonic()
    asking = asyncio.ensure_future(greet(choice))
    try:
        if not await clock.wait(asking, patience):
            error = f"{choice.name} has not answered within {patience:g} seconds."
            hint = choice.advice or "It may be loading: try again in a moment."
            return _failed(choice, clock.monotonic() - began, error, hint)
        asking.result()
    except LraError as error:
        return _failed(choice, clock.monotonic() - began, error.message, error.hint)
    finally:
        asking.cancel()
    return Tried(model=choice.name, ok=True, seconds=clock.monotonic() - began)


def _failed(choice: Choice, seconds: float, error: str, hint: str) -> Tried:
    return Tried(model=choice.name, ok=False, seconds=seconds, error=error, hint=hint)
