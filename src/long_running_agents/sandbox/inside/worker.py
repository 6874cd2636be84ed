"""The chain of generations: each cell runs in a fork of the last good state.

The fork is made beforehand, and waits for the cell. A cell that ends well leaves its process as the
new state, and the supervisor ends the old one. A cell that hangs, crashes or is killed leaves the
old process, which still is as it was.

The supervisor says when to fork (GO), and hears when the fork is there (READY) or dead (DIED).
"""

from __future__ import annotations

import _socket
import gc
import io
import os
import struct
import sys

from .cells import Cells
from .frames import HEAD, LARGEST, Broken, parse, write_frame
from .lean import signal, suppress
from .settings import apply_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .frames import Message
    from .settings import Settings

_STREAMS = struct.Struct("3i")
"""Descriptors that come with a request: standard output, standard error, the answer."""


GO = b"g"
READY = b"r"
DIED = b"d"

# Bound now: a cell may replace the functions of any module.
_fork = os.fork
_waitpid = os.waitpid


def serve(channel: _socket.socket, settings: Settings) -> NoReturn:
    """Run one cell after the other, for ever."""
    apply_limits(settings)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    cells = Cells()
    while _told_to_go(channel):
        if settings.transactional and not _forked(channel):
            continue
        channel.send(READY)
        cells.warm_up()
        try:
            request, streams = _receive(channel)
        except (Broken, OSError):
            break
        _run(cells, request, streams, settings.workspace)
    os._exit(0)


def _told_to_go(channel: _socket.socket) -> bool:
    """Wait for the word; a request whose fork died before it came is passed over."""
    while said := channel.recv(1 << 16):
        if said.endswith(GO):
            return True
    return False


def _forked(channel: _socket.socket) -> bool:
    """Let a child go on; the parent stays as it is, and comes back only if the child has died."""
    # Without this the collector would touch every object, and so copy every page.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = _fork()
    if not child:
        return True
    _waitpid(child, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    channel.send(DIED)
    return False


def _run(cells: Cells, request: Message, streams: list[int], workspace: str) -> None:
    begin(streams[0], streams[1], workspace)
    answer = cells.run(str(request["code"]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The killed children of a living process would stay as zombies and use up the process limit.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with suppress(OSError):
        write_frame(streams[2], {**answer, "process": os.getpid()})
    os.close(streams[2])
    nowhere = os.open("/dev/null", os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def begin(out: int, err: int, workspace: str) -> None:
    """Make this process ready for foreign code, with these as its streams."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    # Last, and only here: a json.py that somebody puts there is not the supervisor's to import.
    if workspace not in sys.path:
        sys.path.append(workspace)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def listening_streams() -> None:
    """Let prints go out line by line, so that a killed cell has said what it said."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace", encoding="utf-8")


def send_with(channel: _socket.socket, content: bytes, streams: list[int]) -> int:
    """Send bytes, and descriptors beside them; how many bytes went."""
    beside = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _STREAMS.pack(*streams))
    return channel.sendmsg([content], [beside])


def _receive(channel: _socket.socket) -> tuple[Message, list[int]]:
    begun, beside, _, _ = channel.recvmsg(1 << 16, _socket.CMSG_SPACE(_STREAMS.size))
    if len(begun) < HEAD.size or len(beside) != 1 or len(beside[0][2]) != _STREAMS.size:
        raise Broken
    streams = list(_STREAMS.unpack(beside[0][2]))
    size: int = HEAD.unpack(begun[: HEAD.size])[0]
    if size > LARGEST:
        raise Broken
    body = bytearray(begun[HEAD.size :])
    while len(body) < size:
        part = channel.recv(min(1 << 20, size - len(body)))
        if not part:
            raise Broken
        body += part
    return parse(bytes(body)), streams
