"""An alarm: one task that wakes somebody at a moment, and can be set again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from long_running_agents.domain.ports import Clock

_LONGEST = 3600.0
"""Seconds to sleep in one go: the machine may sleep, and its clock be set."""


class Alarm:
    """Calls somebody when the clock shows a moment.

    Args:
        clock: Tells the time.
        ring: Who is called.
    """

    def __init__(self, clock: Clock, ring: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._ring = ring
        self._task: asyncio.Task[None] | None = None
        self._at: datetime | None = None

    def set(self, at: datetime | None) -> None:
        """Ring at a moment instead of the one before; None for never."""
        if at == self._at:
            return
        self.close()
        self._at = at
        if at is not None:
            self._task = asyncio.get_running_loop().create_task(self._wait(at))

    def close(self) -> None:
        """Do not ring any more."""
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        self._task = self._at = None

    async def _wait(self, at: datetime) -> None:
        while (left := (at - self._clock.now()).total_seconds()) > 0:
            await self._clock.sleep(min(left, _LONGEST))
        self._at = None
        await self._ring()
