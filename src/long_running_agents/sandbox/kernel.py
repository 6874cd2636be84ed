"""The host's end of the channel to a kernel. What comes out of it is hostile until checked."""

import asyncio
import json
import math
import secrets
import struct
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from typing import Any, cast

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.workspace import WORKSPACE
from long_running_agents.sandbox.base import (
    GRACE,
    LONGEST_CALL,
    CodeError,
    ExecResult,
    FailureName,
    Json,
    SandboxSpec,
)

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

    def __init__(self, failure: FailureName, message: str) -> None:
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
            raise self._lose(FailureName.PROTOCOL, "the kernel did not say that it is ready")
        return answer

    async def ask(self, request: Json, timeout: float, look: Look | None = None) -> Json:
        """Have something done.

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
            raise self._lose(FailureName.PROTOCOL, "the answer does not belong to the question")
        if answer.get("clean") is False:
            raise self._lose(FailureName.DIED, "processes of the call could not be ended")
        return answer

    def close(self) -> None:
        """Hang up."""
        self._hang_up(KernelLost(FailureName.DIED, "the sandbox is gone"))

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
            raise KernelLost(FailureName.DIED, "the sandbox is gone")
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
                    raise self._lose(FailureName.DIED, "the kernel did not answer in time")
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
            self._lose(FailureName.DIED, "all processes of the sandbox have ended")
        except (ValueError, TypeError, RecursionError):
            self._lose(FailureName.PROTOCOL, "the answer could not be read")

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

    def _lose(self, failure: FailureName, message: str) -> KernelLost:
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
        **asdict(limits),
        "address_space": 0 if counted else 4 * limits.memory,
        "processor_seconds": int(LONGEST_CALL),
        "grace": GRACE,
        "transactional": spec.transactional,
        "watch_memory": not counted,
        "proxy": proxy,
        "paths": paths,
    }


STOPPED = {
    "timeout": (FailureName.TIMEOUT, "it took longer than it was given"),
    "memory": (FailureName.MEMORY, "it used more memory than the sandbox may"),
    "disk": (FailureName.DISK, "the workspace is full; delete files before you go on"),
    "output": (FailureName.OUTPUT, "it printed more than can be taken"),
    "cancelled": (FailureName.KILLED, "it was stopped"),
}
_DEEPEST = 100
_MOST_CODES = 256


def result_of(answer: Json, *, isolation: tuple[str, ...], out_of_memory: bool) -> ExecResult:
    """Read an answer; the machine may have killed a process for its memory meanwhile."""
    exit_code = answer.get("exit_code")
    return ExecResult(
        stdout=text(answer.get("stdout")),
        stderr=text(answer.get("stderr")),
        display=tuple(_shown(item) for item in _list(answer.get("display"))),
        value=clean(answer.get("value")),
        error=_error(answer, out_of_memory=out_of_memory),
        exit_code=exit_code if type(exit_code) is int and abs(exit_code) < _MOST_CODES else None,
        rolled_back=answer.get("rolled_back") is True,
        truncated=answer.get("truncated") is True,
        duration_ms=_number(answer.get("duration_ms")),
        memory=_count(answer.get("memory")),
        isolation=isolation,
    )


def lost(failure: FailureName, message: str, *, isolation: tuple[str, ...]) -> ExecResult:
    """The result of a call whose sandbox is gone."""
    error = CodeError(name=failure, message=f"{message}; its state is lost, its files are not")
    return ExecResult(error=error, alive=False, isolation=isolation)


def _error(answer: Json, *, out_of_memory: bool) -> CodeError | None:
    told = _object(answer.get("error"))
    words = {key: text(told.get(key)) for key in ("name", "message", "traceback")}
    stopped = STOPPED.get(text(answer.get("stopped")))
    if stopped is not None:
        return CodeError(name=stopped[0], message=stopped[1], traceback=words["traceback"])
    if answer.get("died") is True or (out_of_memory and not told):
        return _death(answer, out_of_memory=out_of_memory)
    return CodeError(**words) if told else None


def _death(answer: Json, *, out_of_memory: bool) -> CodeError:
    state = "the state before it is lost too" if answer.get("state_lost") is True else ""
    if out_of_memory:
        name, message = STOPPED["memory"]
    else:
        name, message = FailureName.KILLED, "its process died: a signal, a crash or os._exit"
    return CodeError(name=name, message="; ".join(part for part in (message, state) if part))


def text(value: object) -> str:
    """A string that can be written down: no lone surrogates."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")


def clean(value: Any, depth: int = 0) -> Any:
    """JSON data whose strings can be written down."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such number, but some that are too large to be another.
        return str(value)
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [clean(item, depth + 1) for item in _list(cast("object", value))]
    if isinstance(value, dict):
        return {
            text(key): clean(item, depth + 1)
            for key, item in _object(cast("object", value)).items()
        }
    return value


def _shown(item: object) -> dict[str, str]:
    return {text(media): text(content) for media, content in _object(item).items()}


def _object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


def _number(value: object) -> float:
    return value if isinstance(value, float) and math.isfinite(value) else 0.0
