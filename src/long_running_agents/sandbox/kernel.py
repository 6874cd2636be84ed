"""The host's end of the channel to a kernel. What comes out of it is hostile until checked."""

import asyncio
import contextlib
import json
import secrets
import struct
from collections.abc import Callable
from typing import Any

from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox.result import Failure, Json
from long_running_agents.sandbox.spec import GRACE, LONGEST_CALL, SandboxSpec

_HEAD = struct.Struct("!I")
_LARGEST = 64 << 20
_LATE = GRACE + 0.9
"""Seconds after a call's own time at which a kernel that has not answered is given up."""
_START = 20.0


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
        self.lost = False

    async def open(self, settings: Json) -> None:
        """Tell the kernel its settings, and wait until it is ready."""
        self._send(settings)
        answer = await self._receive(_START)
        if answer.get("ready") is not True:
            raise self._lose(Failure.PROTOCOL, "the kernel did not say that it is ready")

    async def ask(self, request: Json, timeout: float) -> Json:
        """Have something done.

        Raises:
            KernelLost: There is no answer and never will be.
        """
        exchange = asyncio.ensure_future(self._exchange(request, min(timeout, LONGEST_CALL)))
        try:
            return await asyncio.shield(exchange)
        except asyncio.CancelledError:
            # The answer is still taken off the channel, so that the next one is not mistaken.
            exchange.add_done_callback(_forget)
            if not self.lost:
                self._send({"do": "stop"})
            raise

    async def _exchange(self, request: Json, timeout: float) -> Json:
        async with self._turn:
            if self.lost:
                raise KernelLost(Failure.DIED, "the sandbox is gone")
            mark = secrets.token_hex(8)
            self._send({**request, "id": mark, "timeout": timeout})
            answer = await self._receive(timeout + _LATE)
            if answer.get("id") != mark:
                raise self._lose(Failure.PROTOCOL, "the answer does not belong to the question")
            if answer.get("clean") is False:
                raise self._lose(Failure.DIED, "processes of the call could not be ended")
            return answer

    def close(self) -> None:
        """Hang up."""
        self.lost = True
        self._writer.close()

    def _send(self, message: Json) -> None:
        body = json.dumps(message).encode()
        self._writer.write(_HEAD.pack(len(body)) + body)

    async def _receive(self, seconds: float) -> Json:
        reading = asyncio.ensure_future(self._frame())
        try:
            if not await self._clock.wait(reading, seconds):
                raise self._lose(Failure.DIED, "the kernel did not answer in time")
            return reading.result()
        except (OSError, asyncio.IncompleteReadError) as error:
            raise self._lose(Failure.DIED, "all processes of the sandbox have ended") from error
        except (ValueError, RecursionError) as error:
            raise self._lose(Failure.PROTOCOL, "the answer could not be read") from error
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await reading

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
        self.close()
        self._destroy()
        return KernelLost(failure, message)


def _forget(exchange: "asyncio.Future[Any]") -> None:
    if not exchange.cancelled():
        exchange.exception()


def kernel_settings(spec: SandboxSpec, *, counted: bool, proxy: str, paths: list[str]) -> Json:
    """The first message to a kernel.

    Args:
        spec: What the sandbox is to be.
        counted: Whether a cgroup counts memory for us, to the byte.
        proxy: The socket of the proxy as seen inside; empty without network.
        paths: Folders of packages as seen inside.
    """
    limits = spec.limits
    return {
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
