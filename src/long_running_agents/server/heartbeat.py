"""The pulse of the event loop: notices when something held it up."""

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from long_running_agents.domain.ports import Clock
from long_running_agents.server.metrics import BLOCKED

log = logging.getLogger(__name__)

BEAT = 0.1
"""Seconds between two beats. Each costs some microseconds, and shorter blocks go unseen."""


class Heartbeat:
    """Beats, and says how late each beat was.

    Args:
        clock: Tells the time.
        lagged: Hears how late.
    """

    def __init__(self, clock: Clock, lagged: Callable[[float], None]) -> None:
        self._clock = clock
        self._lagged = lagged
        self._last = clock.monotonic()

    def beat(self) -> None:
        """Look at the clock."""
        now = self._clock.monotonic()
        late = max(0.0, now - self._last - BEAT)
        self._last = now
        self._lagged(late)
        if late > BLOCKED:
            log.warning("the event loop was blocked for %.2f s: all clients had to wait", late)


@contextmanager
def beating(clock: Clock, lagged: Callable[[float], None]) -> Generator[None]:
    """Watch the running event loop while inside."""
    loop, heart = asyncio.get_running_loop(), Heartbeat(clock, lagged)

    def beat() -> None:
        nonlocal next_beat
        heart.beat()
        next_beat = loop.call_later(BEAT, beat)

    next_beat = loop.call_later(BEAT, beat)
    try:
        yield
    finally:
        next_beat.cancel()
