"""A server that is a program of this machine: started, spoken to in lines, ended with its children.

The library has such a transport. Ours has a bound for the length of a line, notices when the other
end goes, and leaves no process behind that the program has started.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from long_running_agents.mcp.spec import Program
from long_running_agents.mcp.texts import readable

LARGEST_LINE = 16 << 20
_GRACE = 1.0
"""Seconds a program has to leave when its input ends, and again when it is asked to."""
_LONGEST_NOTE = 500

Incoming = ObjectSendStream[SessionMessage | Exception]
Outgoing = ObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def running(
    program: Program, hear: Callable[[str], None], gone: Callable[[], None]
) -> AsyncGenerator[tuple[Any, Any]]:
    """A program while inside; what it writes, and where to write to it.

    Args:
        program: The program.
        hear: Called with each line that is not of the protocol.
        gone: Called when it says nothing more.

    Raises:
        OSError: It cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        program.command,
        *program.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(program.env),
        cwd=program.cwd,
        start_new_session=True,
        limit=LARGEST_LINE,
    )
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks, incoming, received, sent, outgoing:
        tasks.start_soon(_read, process, incoming, hear, gone)
        tasks.start_soon(_write, process, outgoing)
        tasks.start_soon(_note, process, hear)
        try:
            yield received, sent
        finally:
            # It has to end whatever happens to whoever used it.
            with anyio.CancelScope(shield=True):
                await _end(process)
            tasks.cancel_scope.cancel()


async def _read(
    process: asyncio.subprocess.Process,
    incoming: Incoming,
    hear: Callable[[str], None],
    gone: Callable[[], None],
) -> None:
    assert process.stdout is not None, "it was asked for"  # noqa: S101
    try:
        async with incoming:
            try:
                while line := await process.stdout.readline():
                    if (message := _message(line, hear)) is not None:
                        await incoming.send(message)
                    # Many lines may be there already, and others want their turn, too.
                    await asyncio.sleep(0)
            finally:
                # Known before anybody hears that nothing more comes.
                gone()
    except ValueError:
        hear(f"(a line of more than {LARGEST_LINE} bytes ends the conversation)")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        # Nobody listens any more.
        return


def _message(line: bytes, hear: Callable[[str], None]) -> SessionMessage | None:
    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        # Programs print greetings where they should not.
        hear(_line(line))
        return None


async def _write(process: asyncio.subprocess.Process, outgoing: Outgoing) -> None:
    assert process.stdin is not None, "it was asked for"  # noqa: S101
    # A program that has gone is noticed by whoever reads.
    with contextlib.suppress(ConnectionError):
        async for sent in outgoing:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()


async def _note(process: asyncio.subprocess.Process, hear: Callable[[str], None]) -> None:
    """Hear what a program complains about."""
    assert process.stderr is not None, "it was asked for"  # noqa: S101
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:
            continue
        if not line:
            return
        hear(_line(line))
        await asyncio.sleep(0)


def _line(line: bytes) -> str:
    text = line[: 4 * _LONGEST_NOTE].decode(errors="replace")
    return readable(" ".join(text.split()), _LONGEST_NOTE)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let a program leave, make it leave, and then all it has started."""
    assert process.stdin is not None, "it was asked for"  # noqa: S101
    process.stdin.close()
    for urge in (None, signal.SIGTERM, signal.SIGKILL):
        if urge is not None:
            _signal(process, urge)
        try:
            await asyncio.wait_for(process.wait(), _GRACE)
            break
        except TimeoutError:
            continue
    # Its children may have stayed.
    _signal(process, signal.SIGKILL)
    # One that left the group may still hold a pipe; nobody reads it any more.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _signal(process: asyncio.subprocess.Process, which: signal.Signals) -> None:
    # It leads a group of its own, which has the same number.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, which)
