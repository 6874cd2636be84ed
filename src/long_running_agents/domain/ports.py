"""The shapes of what a room needs from outside: calls may go up, imports may not."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Protocol


class Clock(Protocol):
    """Tells the time and waits. Everything that asks for either is handed one."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, for measuring durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def wait(self, task: asyncio.Future[Any], seconds: float) -> bool:
        """Wait for a task, but not longer than this; say whether it is done."""
        ...


class Engine(Protocol):
    """Decides which process runs a piece of work, when, and again after a death.

    The work itself is known by a kind and an id; its truth is in the store. An engine may run
    the same id twice after a death, never two ids of one partition at the same time, and it keeps
    the order within a partition.
    """

    async def submit(self, kind: str, work_id: str, *, partition: str, delay: float = 0.0) -> None:
        """Ask for a piece of work to be run; asking twice is asking once."""
        ...

    async def cancel(self, work_id: str) -> bool:
        """Interrupt a running piece of work; False when it is not running here."""
        ...

    async def close(self) -> None:
        """Let go of everything that runs; the work goes on at the next start."""
        ...


Handler = Callable[[str], Coroutine[Any, Any, None]]
"""Runs the piece of work with this id until it settles."""
