"""Remembering: finished turns become memories, in the background and exactly once.

The log is the truth; a turn is marked in the transaction that writes its memories. Whatever was
not remembered when a process died is remembered at the next start.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError
from long_running_agents.memory.memories import Memories
from long_running_agents.store import memory_turns
from long_running_agents.tools.heard import heard

log = logging.getLogger(__name__)

_AT_ONCE = 20
_PATIENCE = 1.0
"""Seconds that a new turn waits for the last ones to be remembered."""


async def _nothing() -> None:
    """Nobody else has to know."""


class Remembering:
    """A task that remembers turns as they come to rest.

    Args:
        memories: Where they go.
        agent: The name of whoever answered.
        clock: Waits.
        changed: Called after something was remembered.
    """

    def __init__(
        self,
        memories: Memories,
        agent: str,
        clock: Clock,
        changed: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self.memories = memories
        self._agent = agent
        self._clock = clock
        self._changed = changed
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin, with whatever was left over."""
        self._wake.set()
        self._task = asyncio.create_task(self._work())

    def nudge(self) -> None:
        """Say that a turn came to rest."""
        self._idle.clear()
        self._wake.set()

    async def ready(self) -> None:
        """Wait until every turn that came to rest is remembered, but not for ever."""
        waiting = asyncio.ensure_future(self._idle.wait())
        try:
            await self._clock.wait(waiting, _PATIENCE)
        finally:
            waiting.cancel()

    async def close(self) -> None:
        """Remember what is left, then end."""
        if self._task is None:
            return
        if not self._idle.is_set():
            await self.ready()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _work(self) -> None:
        first = True
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._catch_up()
                if first:
                    await self.memories.tidy()
                    await self.memories.refill()
                    first = False
                await self._changed()
            except LraError as error:
                # A full disk or the like: the turns stay unmarked and are remembered later.
                log.warning("turns could not be remembered: %s", error)
            finally:
                if not self._wake.is_set():
                    self._idle.set()

    async def _catch_up(self) -> None:
        database = self.memories.database
        while rows := await database.read(lambda tx: memory_turns.unremembered(tx, limit=_AT_ONCE)):
            for owner, turn in rows:
                known = await database.read(lambda tx, turn=turn: heard(tx, turn.id))
                await self.memories.remember(owner, turn, self._agent, known)
