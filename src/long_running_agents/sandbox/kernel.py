"""The host's end of the channel to a kernel. What comes out of it is hostile until checked."""

import asyncio
import json
import secrets
import struct
from collections.abc import Callable, Coroutine
from typing import Any

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.workspace import WORKSPACE
from long_running_agents.sandbox.result import Failure, Json
from long_running_agents.sandbox.spec import GRACE, LONGEST_CALL, SandboxSpec

_HEAD = struct.Struct("!I")
_LARGEST = 64 << 20
_LATE = GRACE + 1.0
"""Seconds after a call's own time at which a kernel that has not answered is given up."""
_START = 20.0
_LOOK_EVERY = 0.25

Look = Callable[[], Coroutine[Any, Any, None]]
"""What is done now and then while a call runs."""


class KernelLost(Exception):
    """The kernel cannot be spoken to any more."""

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message


class Kernel:
    """Asks one thing at a time, and gets its answer in time or destroys the sandbox."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        clock: Clock,
        destroy: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._destroy = destroy
        self._turn = asyncio.Lock()
        self._expected: asyncio.Future[Json] | None = None
        """The answer that somebody waits for."""
        self._draining: asyncio.Future[None] | None = None
        self._listening = asyncio.ensure_future(self._listen())
        self.lost = False

    async def open(self, settings: Json) -> Json:
        """Tell the kernel its settings, and wait until it is ready; what it says of itself."""
        answer = await self._answered(self._send(settings), _START)
        if answer.get("ready") is not True:
            raise self._lose(Failure.PROTOCOL, "the kernel did not say that it is ready")
        return answer

    async def ask(self, request: Json, timeout: float, look: Look | None = None) -> Json:
        """Have something done.

        Args:
            request: What.
            timeout: How many seconds the kernel gives it.
            look: What to do now and then meanwhile.

        Raises:
            KernelLost: There is no answer and never will be.
        """
        seconds = min(timeout, LONGEST_CALL)
        mark = secrets.token_hex(8)
        await self._turn.acquire()
        try:
            expected = self._send({**request, "id": mark, "timeout": seconds})
            answer = await self._answered(expected, seconds + _LATE, look)
        except asyncio.CancelledError:
            # The answer is still taken off the channel, so that the next one is not mistaken.
            self._draining = asyncio.ensure_future(self._drain())
            raise
        except BaseException:
            self._turn.release()
            raise
        self._turn.release()
        if answer.get("id") != mark:
            raise self._lose(Failure.PROTOCOL, "the answer does not belong to the question")
        if answer.get("clean") is False:
            raise self._lose(Failure.DIED, "processes of the call could not be ended")
        return answer

    def close(self) -> None:
        """Hang up."""
        self._hang_up(KernelLost(Failure.DIED, "the sandbox is gone"))

    async def _drain(self) -> None:
        """Have a call stopped for which nobody waits any more, and let the next one begin."""
        try:
            if self._expected is not None:
                self._write({"do": "stop"})
                await self._answered(self._expected, _LATE)
        except KernelLost:
            # Whoever asks next is told.
            return
        finally:
            self._turn.release()

    def _send(self, message: Json) -> "asyncio.Future[Json]":
        """Say something, and expect an answer."""
        if self.lost:
            raise KernelLost(Failure.DIED, "the sandbox is gone")
        self._write(message)
        self._expected = asyncio.get_running_loop().create_future()
        return self._expected

    def _write(self, message: Json) -> None:
        body = json.dumps(message).encode()
        self._writer.write(_HEAD.pack(len(body)) + body)

    async def _answered(
        self, expected: "asyncio.Future[Json]", seconds: float, look: Look | None = None
    ) -> Json:
        until = self._clock.monotonic() + seconds
        looking: asyncio.Future[None] | None = None
        step = seconds if look is None else min(_LOOK_EVERY, seconds)
        try:
            while not await self._clock.wait(expected, step):
                if self._clock.monotonic() >= until:
                    raise self._lose(Failure.DIED, "the kernel did not answer in time")
                # However long a look takes, the answer does not wait for it.
                if look is not None and (looking is None or looking.done()):
                    looking = asyncio.ensure_future(look())
            return expected.result()
        finally:
            if looking is not None:
                looking.cancel()

    async def _listen(self) -> None:
        """Take what the kernel says, and nothing that was not asked for."""
        try:
            while True:
                answer = await self._frame()
                expected, self._expected = self._expected, None
                if expected is None:
                    raise ValueError("nothing was asked")  # noqa: TRY301 - as any other
                expected.set_result(answer)
        except (OSError, asyncio.IncompleteReadError):
            self._lose(Failure.DIED, "all processes of the sandbox have ended")
        except (ValueError, TypeError, RecursionError):
            self._lose(Failure.PROTOCOL, "the answer could not be read")

    async def _frame(self) -> Json:
        size: int = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))[0]
        if size > _LARGEST:
            raise ValueError(size)
        body = await self._reader.readexactly(size)
        # NaN is no JSON, and what stores answers would choke on it.
        message: object = json.loads(body, parse_constant=str)
        if not isinstance(message, dict):
            raise TypeError(type(message))
        return message  # pyright: ignore[reportUnknownVariableType]

    def _lose(self, failure: Failure, message: str) -> KernelLost:
        loss = KernelLost(failure, message)
        self._hang_up(loss)
        self._destroy()
        return loss

    def _hang_up(self, loss: KernelLost) -> None:
        self.lost = True
        self._writer.close()
        expected, self._expected = self._expected, None
        if expected is not None and not expected.done():
            expected.set_exception(loss)
            # Perhaps nobody waits for it any more.
            expected.exception()
        if self._listening is not asyncio.current_task():
            self._listening.cancel()


def kernel_settings(
    spec: SandboxSpec,
    *,
    counted: bool,
    proxy: str,
    paths: list[str],
    workspace: str = WORKSPACE,
) -> Json:
    """The first message to a kernel.

    Args:
        spec: What the sandbox is to be.
        counted: Whether a cgroup counts memory for us, to the byte.
        proxy: The socket of the proxy as seen inside; empty without network.
        paths: Folders of packages as seen inside.
        workspace: The workspace as seen inside.
    """
    limits = spec.limits
    return {
        "workspace": workspace,
        "memory": limits.memory,
        "address_space": 0 if counted else 4 * limits.memory,
        "processes": limits.processes,
        "file_size": limits.file_size,
        "descriptors": limits.descriptors,
        "processor_seconds": int(LONGEST_CALL),
        "workspace_bytes": limits.workspace_bytes,
        "workspace_files": limits.workspace_files,
        "output_kept": limits.output_kept,
        "output_killed": limits.output_killed,
        "grace": GRACE,
        "transactional": spec.transactional,
        "watch_memory": not counted,
        "proxy": proxy,
        "paths": paths,
        "preload": list(spec.preload),
    }
