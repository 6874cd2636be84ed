"""Threads that do blocking work for an event loop, one hop there and one back."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Worker:
    """A few threads with one line of jobs.

    A plain executor does the same for three times the price: it makes a second future for every
    job and chains the two. With one thread, jobs are done one after another in their order.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        self._begun = False
        self._closed = False

    async def do(self, job: Callable[[], T]) -> T:
        """Have a job done; if the caller is cancelled, the job is done all the same.

        Raises:
            RuntimeError: The worker is closed; the job would wait for ever.
        """
        if self._closed:
            raise RuntimeError("The database is closed.")
        if not self._begun:
            self._begun = True
            for thread in self._threads:
                thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put((job, loop, future))
        return await future

    async def drain(self) -> None:
        """Wait until everything asked for so far is done, however often one is cancelled.

        Only meaningful with one thread.
        """
        barrier = asyncio.ensure_future(self.do(lambda: None))
        while not barrier.done():
            try:
                await asyncio.wait([barrier])
            except asyncio.CancelledError:
                continue

    def close(self) -> None:
        """Finish the line and end the threads."""
        self._closed = True
        if self._begun:
            for _ in self._threads:
                self._jobs.put(None)
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while (entry := self._jobs.get()) is not None:
            job, loop, future = entry
            try:
                tell = partial(_succeed, future, job())
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller
                tell = partial(_fail, future, error)
            # A loop that is gone has nobody left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tell)
            # Do not keep the job's objects alive while waiting for the next.
            del entry, job, loop, future, tell


def _succeed(future: "asyncio.Future[Any]", result: object) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
