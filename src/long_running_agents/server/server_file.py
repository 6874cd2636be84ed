"""The server file: where the server that owns a home can be reached by the person's own programs.

A file in the home that only its owner can read: whoever can read it could read the database, too.
"""

import asyncio
import json
import logging
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from long_running_agents.domain.auth import new_secret
from long_running_agents.errors import storing
from long_running_agents.home import Home

if TYPE_CHECKING:
    from long_running_agents.app import App
    from long_running_agents.domain.ports import Clock


@dataclass(frozen=True, slots=True)
class ServerFile:
    """A running server."""

    pid: int
    address: str
    """Such as http://127.0.0.1:8000, without a slash at its end."""
    secret: str
    """Lets in whoever is on the same machine, with all scopes, until the server ends."""
    socket: str = ""
    """The file of a local socket, where it listens at one instead of a port."""


def running(home: Home) -> ServerFile | None:
    """The server that owns a home now, if one does.

    A file that a dead server left behind counts for nothing: the lock on the home tells.
    """
    try:
        presence = ServerFile(**json.loads(home.server.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return presence if home.owner() == presence.pid else None


@contextmanager
def announced(home: Home, address: str, secret: str, socket: str = "") -> Generator[ServerFile]:
    """Tell the person's own programs about this server while inside."""
    presence = ServerFile(os.getpid(), address, secret, socket)
    with storing(home.server, "Check its permissions."):
        unfinished = home.server.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(presence), file)
        unfinished.replace(home.server)
    try:
        yield presence
    finally:
        home.server.unlink(missing_ok=True)


log = logging.getLogger(__name__)

_ADDRESS = "http://localhost"


@asynccontextmanager
async def shared(app: "App", clock: "Clock") -> AsyncGenerator[None]:
    """Let the person's other programs join an open home while inside."""
    control, knocked, stop = new_secret(), asyncio.Event(), asyncio.Event()
    with _listening(app.home) as listener:
        serving = asyncio.create_task(_serve(app, clock, listener, knocked, stop, control))
        try:
            # Taken back before the door closes: whoever comes then opens the home themselves.
            with announced(app.home, _ADDRESS, control, listener.getsockname()):
                yield
        finally:
            stop.set()
            knocked.set()
            await serving


async def _serve(
    app: "App",
    clock: "Clock",
    listener: socket.socket,
    knocked: asyncio.Event,
    stop: asyncio.Event,
    control: str,
) -> None:
    loop = asyncio.get_running_loop()
    loop.add_reader(listener, knocked.set)
    try:
        await knocked.wait()
    finally:
        loop.remove_reader(listener)
    if stop.is_set():
        return
    try:
        # In a thread: whoever types here is not held up by another terminal that comes.
        serving = await asyncio.to_thread(import_module, "long_running_agents.server.serve")
        await serving.serve_locally(app, clock, listener, stop, control)
    except Exception:  # The others lose a server; what is done here goes on.
        log.exception("the home is no longer shared")


@contextmanager
def _listening(home: Home) -> Generator[socket.socket]:
    """A socket in the home that only its owner can open."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        # A name of its own: whoever was joined to a dead process must not take this one for it.
        path = home.path / f"lra-{secrets.token_hex(4)}.sock"
        try:
            for left_behind in home.path.glob("lra-*.sock"):
                left_behind.unlink(missing_ok=True)
            listener.bind(str(path))
        except OSError:
            # The home's path is too long for one, or its file system has none.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lra-"))
            path = Path(folder) / path.name
            listener.bind(str(path))
        stack.callback(path.unlink, missing_ok=True)
        path.chmod(0o600)
        listener.listen()
        yield listener
