"""One thread for one model: work waits its turn there, can be left, and idleness is noticed."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from long_running_agents.clock import SystemClock
from long_running_agents.domain.ports import Clock

T = TypeVar("T")

Hear: TypeAlias = Callable[[T], bool]
"""Takes one more piece from the thread; True means that nobody wants the rest."""


class Worker:
    """Runs the work of one engine, a piece of work at a time, off the event loop.

    Args:
        name: What the thread is called.
        drop: Lets go of the memory; it runs on the thread, too.
        idle_after: Seconds without work after which that happens; None means never.
        clock: Measures them.
    """

    def __init__(
        self,
        name: str,
        drop: Callable[[], None],
        *,
        idle_after: float | None,
        clock: Clock | None,
    ) -> None:
        self._drop = drop
        self._idle_after = idle_after
        self._clock = clock or SystemClock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"model-{name}")
        self._asked = 0
        self.resting: asyncio.Task[None] | None = None

    async def stream(self, work: Callable[[Hear[T]], None]) -> AsyncGenerator[T, None]:
        """What the work tells, piece by piece. Closing the generator tells the work to stop."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
        stop = threading.Event()

        def hear(piece: T) -> bool:
            if not stop.is_set():
                try:
                    loop.call_soon_threadsafe(heard.put_nowait, (piece,))
                except RuntimeError:
                    # The loop is closed: nobody will ever hear the rest.
                    stop.set()
            return stop.is_set()

        def run() -> None:
            # Those who left while they waited their turn want nothing.
            if not stop.is_set():
                work(hear)

        self._busy()
        running = loop.run_in_executor(self._thread, run)
        running.add_done_callback(lambda done: _over(done, heard))
        try:
            while (piece := await heard.get()) is not None:
                yield piece[0]
            await running
        finally:
            stop.set()
            self._idle()

    async def do(self, work: Callable[[], T]) -> T:
        """The result of a piece of work."""
        self._busy()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._idle()

    async def rest(self) -> None:
        """Let go of the memory now."""
        if self.resting is not None and self.resting is not asyncio.current_task():
            self.resting.cancel()
        self.resting = None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._drop)

    def _busy(self) -> None:
        self._asked += 1
        if self.resting is not None:
            self.resting.cancel()
            self.resting = None

    def _idle(self) -> None:
        self._asked -= 1
        if self._asked == 0 and self._idle_after is not None:
            self.resting = asyncio.get_running_loop().create_task(self._later(self._idle_after))

    async def _later(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self.rest()


def _over(done: "asyncio.Future[None]", heard: "asyncio.Queue[Any]") -> None:
    if not done.cancelled():
        # Looked at here too, so that a stream nobody reads to its end leaves no complaint behind.
        done.exception()
    heard.put_nowait(None)
