"""Remembering: finished turns become memories, in the background and exactly once.

The log is the truth; a turn is marked in the transaction that writes its memories. Whatever was
not remembered when a process died is remembered at the next start.
"""

import asyncio
import logging
from collections.abc import Collection, Coroutine
from contextlib import suppress
from typing import Any

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError
from long_running_agents.memory.memories import Memories
from long_running_agents.memory.mirrors import Mirrors
from long_running_agents.store import memory_turns
from long_running_agents.tools.heard import heard

log = logging.getLogger(__name__)

_AT_ONCE = 20
_PATIENCE = 1.0
"""Seconds that a new turn waits for the last ones to be remembered."""


class Remembering:
    """A task that remembers turns as they come to rest.

    Args:
        memories: Where they go.
        agent: The name of whoever answered.
        clock: Waits.
        mirrors: The files that show what is remembered.
    """

    def __init__(
        self,
        memories: Memories,
        agent: str,
        clock: Clock,
        mirrors: Mirrors,
    ) -> None:
        self.memories = memories
        self._agent = agent
        self._clock = clock
        self._mirrors = mirrors
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._all = True
        """Whether there may be turns of which nobody has told."""
        self._ended: set[TurnId] = set()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin, with whatever was left over."""
        self._task = asyncio.create_task(self._work())

    def nudge(self, turn_id: TurnId) -> None:
        """Say that a turn came to rest."""
        self._ended.add(turn_id)
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
        await self._guarded(self._mirrors.write())

    async def _work(self) -> None:
        await self._remember()
        await self._guarded(self._keep_house())
        while True:
            await self._wake.wait()
            await self._remember()
            await self._guarded(self._mirrors.write())

    async def _remember(self) -> None:
        self._wake.clear()
        await self._guarded(self._catch_up())
        # What comes after, such as new vectors for everything, is nothing a turn should wait for.
        if not self._wake.is_set():
            self._idle.set()

    async def _keep_house(self) -> None:
        await self._mirrors.read_edits()
        await self.memories.tidy()
        await self.memories.refill()

    @staticmethod
    async def _guarded(work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except LraError as error:
            # A full disk or the like: turns stay unmarked and are remembered later.
            log.warning("the memory could not be kept: %s", error)
        except Exception:  # The outermost ring: a bug here must not end a conversation.
            log.exception("the memory could not be kept")

    async def _catch_up(self) -> None:
        ended, self._ended = self._ended, set()
        # Looking through all turns takes the longer the more there are: only what one does not
        # know is looked for.
        looking, self._all = self._all, True
        if looking:
            await self._remember_unremembered(None)
        elif ended:
            await self._remember_unremembered(ended)
        self._all = False

    async def _remember_unremembered(self, among: Collection[TurnId] | None) -> None:
        database = self.memories.database
        while rows := await database.read(
            lambda tx: memory_turns.unremembered(tx, limit=_AT_ONCE, among=among)
        ):
            for turn in rows:
                known = await database.read(lambda tx, turn=turn: heard(tx, turn.id))
                await self.memories.remember(turn.owner, turn, self._agent, known)
