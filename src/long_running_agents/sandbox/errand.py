"""Work with hostile data or patterns, done by a process that may hang, swell or crash.

A parser that is handed a broken file, and a regular expression that never ends, cannot be stopped
inside our process. Errands are modules of ours that run beside it: they are told what to do in
JSON, tell what they find line by line, and are ended when they break their bounds.
"""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import cast

from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox.result import Json

OUT_OF_MEMORY = 12
"""The exit code of an errand that needed more memory than it was given."""

_MEGABYTE = 1 << 20
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What an errand may use."""

    seconds: float
    memory: int
    """Bytes of memory."""
    mapped: int = 0
    """Bytes of a file that it may map."""
    written: int = 0
    """Bytes of a file it may write."""
    told: int = 4 * _MEGABYTE
    """Bytes it may tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an errand told."""

    lines: tuple[Json, ...]
    cut_short: str = ""
    """Why it was ended before it was done, in words; empty if it was not."""


async def run(
    module: str, request: Json, bounds: Bounds, clock: Clock, *, file: int | None = None
) -> Report:
    """Send a module of ours on an errand.

    Args:
        module: The module to run.
        request: What it shall do.
        bounds: What it may use.
        clock: Measures the time it takes.
        file: An open file that it inherits under the same number.
    """
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
    telling = asyncio.ensure_future(_told(process, asked, bounds.told))
    try:
        in_time = await clock.wait(telling, bounds.seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        heard, whole = await telling
        code = await process.wait()
    lines = heard.split(b"\n")[:-1]
    return Report(
        lines=tuple(_parsed(line) for line in lines if line),
        cut_short=_why(code, bounds, in_time=in_time, whole=whole),
    )


async def _told(process: asyncio.subprocess.Process, asked: bytes, most: int) -> tuple[bytes, bool]:
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


def _why(code: int, bounds: Bounds, *, in_time: bool, whole: bool) -> str:
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
