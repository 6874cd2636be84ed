"""The engine of a single process: one queue per partition, in order."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from long_running_agents.domain.ports import Clock, Handler
from long_running_agents.errors import UsageError


class _Work(NamedTuple):
    kind: str
    id: str
    context: contextvars.Context
    """Of whoever asked for it: what is logged and traced belongs to them."""


class LocalEngine:
    """Runs work in this process, one piece per partition at a time.

    Its queues live in memory on purpose: the store knows what is unfinished, and whoever opens
    the home submits that again.
    """

    def __init__(self, handlers: Mapping[str, Handler], clock: Clock) -> None:
        self._handlers = handlers
        self._clock = clock
        self._queues: dict[str, deque[_Work]] = {}
        self._drivers: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._queued: set[str] = set()
        self._delayed: set[asyncio.Task[None]] = set()
        self._closed = False

    async def submit(self, kind: str, work_id: str, *, partition: str, delay: float = 0.0) -> None:
        """Queue a piece of work behind the others of its partition."""
        if kind not in self._handlers:
            raise UsageError(f"Nobody here does work of the kind {kind!r}.")
        if self._closed or work_id in self._queued:
            return
        self._queued.add(work_id)
        work = _Work(kind, work_id, contextvars.copy_context())
        if delay > 0:
            waiter = asyncio.create_task(self._later(work, partition, delay))
            self._delayed.add(waiter)
            waiter.add_done_callback(self._delayed.discard)
        else:
            self._enqueue(work, partition)

    async def cancel(self, work_id: str) -> bool:
        """Interrupt a running piece of work and wait until it has let go."""
        task = self._running.get(work_id)
        if task is None:
            return False
        task.cancel()
        await asyncio.wait([task])
        return True

    async def close(self) -> None:
        """Interrupt everything; unfinished work stays unfinished in the store."""
        # What is let go of may ask for more on its way out; that stays in the store as well.
        self._closed = True
        tasks = [*self._delayed, *self._drivers.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _later(self, work: _Work, partition: str, delay: float) -> None:
        await self._clock.sleep(delay)
        self._enqueue(work, partition)

    def _enqueue(self, work: _Work, partition: str) -> None:
        self._queues.setdefault(partition, deque()).append(work)
        if partition not in self._drivers:
            self._drivers[partition] = asyncio.create_task(self._drive(partition))

    async def _drive(self, partition: str) -> None:
        queue = self._queues[partition]
        try:
            while queue:
                work = queue.popleft()
                # From here on the same id may be queued again: an answer can arrive while the
                # turn that asked is still putting its things away.
                self._queued.discard(work.id)
                await self._run(work)
        finally:
            # No await since the queue was seen empty, so nothing can slip in between.
            del self._drivers[partition]
            del self._queues[partition]

    async def _run(self, work: _Work) -> None:
        task = asyncio.create_task(self._handlers[work.kind](work.id), context=work.context)
        self._running[work.id] = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            del self._running[work.id]
        if not task.cancelled() and (error := task.exception()) is not None:
            # A handler settles its own work; what escapes it is a bug and must be heard.
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"{work.kind} {work.id} ended with a bug", "exception": error}
            )
