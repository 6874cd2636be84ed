"""Serving an open home until somebody says stop."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Callable, Generator

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from long_running_agents import listening
from long_running_agents.app import App
from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.token import new_secret
from long_running_agents.errors import UsageError
from long_running_agents.server import heartbeat, presence
from long_running_agents.server.asgi import create_app
from long_running_agents.server.connections import Connections
from long_running_agents.server.door import Door
from long_running_agents.server.tokens import Tokens
from long_running_agents.server.waiting_room import WaitingRoom
from long_running_agents.store.opening import open_database

_PATIENCE = 3
"""Seconds that running requests have when the server stops."""
_CONNECTIONS = 1000
"""Connections that are not WebSockets."""
_AT_ONCE = 100
"""Connections that are taken before those that were taken are listened to."""
_QUEUE = 2048
"""Connections that wait in the kernel."""
_OTHERS = 256
"""Handles for everything that is not a connection."""
_FEWEST = 16

MakeApp = Callable[[App, Clock, Door], ASGIApp]


async def check_bind(loaded: Loaded, clock: Clock) -> None:
    """Refuse to be reachable by others while nobody would have to be known.

    Raises:
        UsageError: There is no token.
    """
    host = loaded.settings.gateway.host
    if listening.is_loopback(host):
        return
    async with open_database(loaded, clock) as database:
        if not await Tokens(database, clock).any_good():
            raise UsageError(
                f"Other machines can reach {host or 'every address'}, and there is no token yet.",
                hint="'lra tokens create NAME' makes one; 127.0.0.1 needs none.",
            )


async def serve(
    app: App,
    clock: Clock,
    listener: socket.socket,
    stop: asyncio.Event,
    ready: Callable[[str], None],
    *,
    make: MakeApp = create_app,
) -> None:
    """Serve an open home.

    Args:
        app: The open home.
        clock: Tells the time.
        listener: Listens already.
        stop: Set when it is time to leave.
        ready: Hears the address once somebody may come.
        make: Makes the application of the home.
    """
    gateway = app.settings.gateway
    control = new_secret()
    door = Door(app.database, clock, gateway, app.settings.owner, control=control)
    room = WaitingRoom(places(gateway.max_sockets, handles(gateway.max_sockets)))
    config = listening.configured(
        make(app, clock, door),
        {
            "http": room.protocol,
            "ws": "websockets-sansio",
            "ws_max_size": gateway.max_body,
            # It costs each socket some hundred kilobytes, and words are short.
            "ws_per_message_deflate": False,
            "timeout_graceful_shutdown": _PATIENCE,
            "backlog": _AT_ONCE,
        },
    )
    server = _Server(config, door.connections)
    own = listening.address_of(_reachable(gateway.host), listener)
    with (
        presence.announced(app.home, own, control),
        heartbeat.beating(clock, app.onlookers.lagged),
    ):
        ready(listening.address_of(gateway.host, listener))
        stopping = asyncio.create_task(_stop(server, stop))
        try:
            await server.serve(sockets=[listener])
        finally:
            stopping.cancel()


async def _stop(server: uvicorn.Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True


class _Server(uvicorn.Server):
    """Leaves the signals to us, and ends streams that would never end by themselves."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self._connections = connections

    @contextlib.contextmanager
    @override
    def capture_signals(self) -> Generator[None]:
        """Hear none."""
        yield

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take only so many at once, but let many wait."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_QUEUE)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say good-bye, then leave."""
        self._connections.end_all()
        await super().shutdown(sockets)


def handles(max_sockets: int) -> int:
    """Have the machine give this process enough handles, if it can; how many there are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max_sockets + _CONNECTIONS + _OTHERS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def places(max_sockets: int, most: int) -> int:
    """How many connections there may be beside the sockets, with so many handles."""
    return max(_FEWEST, min(_CONNECTIONS, most - max_sockets - _OTHERS))


def _reachable(host: str) -> str:
    """An address at which this machine reaches a server that is bound to all of them."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - to leave it
