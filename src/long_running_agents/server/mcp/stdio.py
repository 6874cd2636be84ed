"""The protocol over stdin and stdout: one message in a line.

The library's own transport reads in a thread that keeps the process alive until stdin ends, takes
lines of any length, and answers nothing to what it cannot read.
"""

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

from long_running_agents.domain.auth import Caller
from long_running_agents.domain.ports import Clock
from long_running_agents.server.mcp.server import server_of
from long_running_agents.server.mcp.tools import McpAgentApi

log = logging.getLogger(__name__)

LARGEST_LINE = 16 << 20
"""Bytes of one message."""
_CHUNK = 1 << 16
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_WAITING = 16
"""Lines that are read ahead."""

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Received = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]
Sent = MemoryObjectSendStream[SessionMessage]
Lines = asyncio.Queue[bytes | None]
"""Lines, an empty one for one that was too long, and None at the end."""


async def talk(agent: McpAgentApi, clock: Clock, stop: asyncio.Event) -> None:
    """Serve one client until stdin ends, or until it is time to leave."""
    left, caller = asyncio.Event(), Caller(owner=agent.owner)
    server = server_of(agent, clock, lambda _: caller, left.is_set)
    with _claimed() as (stdin, stdout):
        async with _wire(stdin, stdout, left.set) as (received, sent):
            options = server.create_initialization_options()
            running = asyncio.create_task(server.run(received, sent, options))
            stopping = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                left.set()
                running.cancel()
                stopping.cancel()
                await asyncio.wait({running, stopping})
    if not running.cancelled():
        running.result()


@contextmanager
def _claimed() -> Generator[tuple[int, int]]:
    """Keep stdin and stdout for the protocol: what anybody else prints goes to stderr."""
    stdin, stdout = os.dup(_STDIN), os.dup(_STDOUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.close(nothing)
    os.dup2(_STDERR, _STDOUT)
    try:
        # They stay open: a thread may still wait for the first one.
        yield stdin, stdout
    finally:
        os.dup2(stdout, _STDOUT)


@asynccontextmanager
async def _wire(
    stdin: int, stdout: int, gone: Callable[[], None]
) -> AsyncGenerator[tuple[Received, Sent]]:
    lines: Lines = asyncio.Queue(_WAITING)
    loop = asyncio.get_running_loop()
    # Nobody waits for it: it may be in the middle of reading when we leave.
    threading.Thread(target=_pump, args=(stdin, lines, loop), daemon=True).start()
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    write = _Writer(stdout)
    async with anyio.create_task_group() as tasks, incoming, received, sent, outgoing:
        tasks.start_soon(_read, lines, incoming, write, gone)
        tasks.start_soon(_write, outgoing, write)
        try:
            yield received, sent
        finally:
            tasks.cancel_scope.cancel()


def _pump(stdin: int, lines: Lines, loop: asyncio.AbstractEventLoop) -> None:
    """Read lines, in a thread of its own."""
    try:
        for line in _lines(stdin):
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
        asyncio.run_coroutine_threadsafe(lines.put(None), loop).result()
    except RuntimeError:
        # The loop has ended, and everything with it.
        return


def _lines(stdin: int) -> Generator[bytes]:
    """The lines of a pipe; an empty one stands for one that was too long."""
    line, too_long = bytearray(), False
    while chunk := os.read(stdin, _CHUNK):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line += part
            if too_long or len(line) > LARGEST_LINE:
                yield b""
            elif line.strip():
                yield bytes(line)
            line, too_long = bytearray(), False
        line += rest
        if len(line) > LARGEST_LINE:
            line, too_long = bytearray(), True


class _Writer:
    """Writes messages, one after the other."""

    def __init__(self, stdout: int) -> None:
        self._stdout = stdout
        self._one = asyncio.Lock()

    async def message(self, text: str) -> None:
        """Write a message."""
        async with self._one:
            # A client that has gone is noticed by whoever reads.
            with suppress(OSError):
                # In a thread: whoever reads may take their time.
                await asyncio.to_thread(_write_all, self._stdout, text.encode() + b"\n")

    async def error(self, request: object, code: int, message: str) -> None:
        """Answer what cannot be understood, or not be said."""
        known = request if isinstance(request, str | int) else None
        told = {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}}
        await self.message(json.dumps(told))


def _write_all(stdout: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(stdout, view) :]


async def _read(lines: Lines, incoming: Incoming, write: _Writer, gone: Callable[[], None]) -> None:
    async with incoming:
        while (line := await lines.get()) is not None:
            message = await _message(line, write)
            if message is not None:
                await incoming.send(message)
        # Known before anybody hears that nothing more comes.
        gone()


async def _message(line: bytes, write: _Writer) -> SessionMessage | None:
    """What a line says; whatever it is, somebody may wait for an answer."""
    if not line:
        await write.error(None, PARSE_ERROR, f"A line has at most {LARGEST_LINE} bytes.")
        return None
    try:
        told: Any = json.loads(line)
    except (ValueError, RecursionError):
        await write.error(None, PARSE_ERROR, "That is no JSON.")
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(told, by_name=False))
    except (ValidationError, RecursionError):
        match told:
            case {"id": request}:
                pass
            case _:
                request = None
        await write.error(request, INVALID_REQUEST, "That is no message of the protocol.")
        return None


async def _write(outgoing: Outgoing, write: _Writer) -> None:
    async for sent in outgoing:
        message = sent.message
        try:
            text = message.model_dump_json(by_alias=True, exclude_unset=True)
        except ValueError:
            # Half a character that was asked for, in an error that repeats it.
            log.warning("An answer cannot be written")
            await write.error(getattr(message, "id", None), INTERNAL_ERROR, "It cannot be said.")
        else:
            await write.message(text)
