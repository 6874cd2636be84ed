"""Bounded helper processes: work with hostile data or patterns that may hang, swell or crash.

A parser that is handed a broken file, and a regular expression that never ends, cannot be stopped
inside our process. A helper is a module of ours that runs beside it: it gets a request in JSON,
writes what it finds line by line, and is killed when it exceeds its bounds.
"""

import asyncio
import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Protocol, cast

from long_running_agents.sandbox import seccomp
from long_running_agents.sandbox.base import Json
from long_running_agents.sandbox.seccomp import MACHINES

OUT_OF_MEMORY = 12
"""The exit code of a helper that needed more memory than it was given."""

_MEGABYTE = 1 << 20
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessBounds:
    """What a helper may use."""

    seconds: float
    memory: int
    """Bytes of memory."""
    mapped: int = 0
    """Bytes of a file that it may map."""
    written: int = 0
    """Bytes of a file it may write."""
    told: int = 4 * _MEGABYTE
    """Bytes it may write to us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """What a helper wrote."""

    lines: tuple[Json, ...]
    cut_short: str = ""
    """Why it was ended before it was done, in words; empty if it was not."""


class _Clock(Protocol):
    """What is used of a clock: whoever reads foreign documents imports nothing else of ours."""

    async def wait(self, task: asyncio.Future[Any], seconds: float) -> bool:
        """Wait for a task, but not longer than this; say whether it is done."""
        ...


async def run(
    module: str, request: Json, bounds: ProcessBounds, clock: _Clock, *, file: int | None = None
) -> ProcessReport:
    """Run a module of ours as a helper; it inherits the open file under the same number."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-B", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=() if file is None else (file,),
        # Neither our variables, which hold keys, nor our folder.
        env={},
        cwd="/",
        start_new_session=True,
    )
    asked = json.dumps({"request": request, "bounds": asdict(bounds)}).encode()
    talking = asyncio.ensure_future(_talk(process, asked, bounds.told))
    try:
        in_time = await clock.wait(talking, bounds.seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        heard, whole = await talking
        code = await process.wait()
    lines = heard.split(b"\n")[:-1]
    return ProcessReport(
        lines=tuple(_parsed(line) for line in lines if line),
        cut_short=_why(code, bounds, in_time=in_time, whole=whole),
    )


async def _talk(process: asyncio.subprocess.Process, asked: bytes, most: int) -> tuple[bytes, bool]:
    """All that a process says, and whether that was all it wanted to say."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - as above
    # It may be dead before it has heard everything; its exit code then says why.
    with suppress(ConnectionError):
        process.stdin.write(asked)
        process.stdin.write_eof()
    heard = bytearray()
    while len(heard) <= most:
        block = await process.stdout.read(_BLOCK)
        if not block:
            await process.wait()
            return bytes(heard), True
        heard += block
    return bytes(heard), False


def _parsed(line: bytes) -> Json:
    # It parsed hostile data, so it may have been taken over: anything may come from it.
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}


def _why(code: int, bounds: ProcessBounds, *, in_time: bool, whole: bool) -> str:
    if not in_time or code == -signal.SIGXCPU:
        return f"it took longer than {bounds.seconds:g} seconds"
    if not whole:
        return f"it had more than {bounds.told // _MEGABYTE} megabytes to tell"
    if code == OUT_OF_MEMORY:
        return f"it needed more than {bounds.memory // _MEGABYTE} megabytes of memory"
    return "" if code == 0 else f"it crashed ({_signal_name(code)})"


def _signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


_NO_NEW_PRIVILEGES, _PARENT_DEATH_SIGNAL, _SECCOMP, _FILTER = 38, 1, 22, 2
_EXECUTE = {"x86_64": (59, 322), "aarch64": (221, 281)}


def serve(work: Callable[[Json], Iterable[Json]]) -> None:
    """Be a helper: read the request, take on the bounds, and write what is found line by line."""
    asked = json.load(sys.stdin)
    confine(ProcessBounds(**asked["bounds"]))
    try:
        for line in work(asked["request"]):
            # At once: what was found counts, even if the rest never ends.
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def confine(bounds: ProcessBounds) -> None:
    """Give up whatever the work does not need; there is no way back."""
    seconds = ceil(bounds.seconds)
    for what, most in (
        (resource.RLIMIT_DATA, bounds.memory),
        # A mapped file takes addresses, but no memory that nobody could have back.
        (resource.RLIMIT_AS, bounds.memory * 4 + bounds.mapped * 2),
        # Threads count together, so this is the second line behind the clock of the host.
        (resource.RLIMIT_CPU, seconds * (os.cpu_count() or 1)),
        (resource.RLIMIT_FSIZE, bounds.written),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _filter_calls(library)


def _filter_calls(library: ctypes.CDLL) -> None:
    """Neither a network nor another program: whoever takes over a parser finds little to do."""
    name = platform.machine()
    machine = MACHINES.get(name)
    if machine is None:
        return
    refused = (*_EXECUTE[name], machine.socket, machine.socketpair)
    steps = seccomp.build(machine, memory_files=True, also=refused)
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(kept))
    library.prctl(_SECCOMP, _FILTER, program, 0, 0)
