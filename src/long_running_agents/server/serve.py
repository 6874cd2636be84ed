"""Serve an open home with uvicorn: sockets, clients that are too slow, and stopping."""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Generator
from http import HTTPStatus
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from long_running_agents.app import App
from long_running_agents.config import LoadedSettings
from long_running_agents.domain.auth import new_secret
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError, UsageError
from long_running_agents.net import listen
from long_running_agents.observe import metrics
from long_running_agents.server import server_file
from long_running_agents.server.asgi import create_app
from long_running_agents.server.auth import PEER, PeerCredentials, Tokens, can_be_known
from long_running_agents.server.connections import Connections, share
from long_running_agents.server.errors import ErrorBody
from long_running_agents.server.guard import Authenticator
from long_running_agents.server.hosts import neighbourhood
from long_running_agents.store.backups import back_up_daily
from long_running_agents.store.schema import open_database

_HEAD = 65_536
"""Bytes that may come before a request is complete."""
_SLOWEST = 10.0


def _refusal(status: HTTPStatus, code: str, message: str) -> bytes:
    """A whole response in the one shape, for those who have not got as far as a route."""
    body = ErrorBody(code=code, message=message).model_dump_json()
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
    ).encode()


_TOO_LONG = _refusal(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large", "The headers are too long."
)
_FULL = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "Too many connections are open.")


class SlowClients:
    """The connections of a server, as long as they are not WebSockets."""

    def __init__(
        self,
        most: int,
        patience: float = _SLOWEST,
        inner: Callable[..., asyncio.Protocol] = AutoHTTPProtocol,
    ) -> None:
        # Patience is for requests that are not complete but for their bodies.
        self._most = most
        self._inner = inner
        self.patience = patience
        self.knows_peers = can_be_known()
        """Whether it is told whose the connections are."""
        self._guests: OrderedDict[SlowClient, str] = OrderedDict()
        self._places: Counter[str] = Counter()

    def protocol(self, **options: Any) -> asyncio.Protocol:
        """What uvicorn makes for each connection."""
        peer = PeerCredentials()
        if self.knows_peers:
            # Every request of the connection finds it in its state, and so does its WebSocket.
            options["app_state"] = {**options["app_state"], PEER: peer}
        return SlowClient(self, self._inner(**options), peer)

    def enter(self, guest: "SlowClient", address: str) -> bool:
        """Let a connection in, if need be in place of a quiet one; False if nobody is quiet."""
        place = neighbourhood(address)
        if self._places[place] >= share(address, self._most) and not self._make_room({place}):
            return False
        if len(self._guests) >= self._most and not self._make_room(self._places):
            return False
        self._guests[guest] = place
        self._places[place] += 1
        return True

    def leave(self, guest: "SlowClient") -> None:
        """Forget a connection."""
        place = self._guests.pop(guest, None)
        if place is not None:
            self._places[place] -= 1
            if not self._places[place]:
                del self._places[place]

    def _make_room(self, among: Collection[str]) -> bool:
        """Send away who has been here for the longest; whoever never asked goes first."""
        guests = [guest for guest, place in self._guests.items() if place in among]
        silent = (guest for guest in guests if not guest.has_asked)
        quiet = next(silent, None) or next((guest for guest in guests if not guest.busy), None)
        if quiet is None:
            return False
        self.leave(quiet)
        quiet.abort()
        return True


class SlowClient(asyncio.Protocol):
    """A connection, with uvicorn's own protocol inside."""

    def __init__(self, room: SlowClients, inner: Any, peer: PeerCredentials) -> None:
        self._room = room
        self._inner = inner
        self._peer = peer
        self._transport: asyncio.Transport | None = None
        self._head = 0
        self._timer: asyncio.TimerHandle | None = None
        self._refused = False

    @property
    def has_asked(self) -> bool:
        """Whether there ever was a request."""
        return self._inner.cycle is not None

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        cycle = self._inner.cycle
        return cycle is not None and not cycle.response_complete

    def abort(self) -> None:
        """Close the connection without a word."""
        self._rest()
        if self._transport is not None:
            self._transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection, or turn it away."""
        self._transport = cast("asyncio.Transport", transport)
        self._peer.transport = transport
        peer = transport.get_extra_info("peername")
        if not self._room.enter(self, str(peer[0]) if peer else ""):
            self._refuse(_FULL)
            return
        self._inner.connection_made(transport)
        self._watch()

    @override
    def data_received(self, data: bytes) -> None:
        """Pass on what comes, and count what comes before a request is complete."""
        if self._refused or self._transport is None:
            return
        if not self.busy:
            self._head += len(data)
            self._watch()
        self._inner.data_received(data)
        if self._transport.get_protocol() is not self:
            # It is a WebSocket now, and counted as one.
            self._rest()
            self._room.leave(self)
        elif self.busy:
            self._head = 0
            self._rest()
        elif self._head > _HEAD:
            self._refuse(_TOO_LONG)

    @override
    def eof_received(self) -> bool | None:
        """Pass it on."""
        return None if self._refused else self._inner.eof_received()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._rest()
        self._room.leave(self)
        if self._inner.transport is not None:
            self._inner.connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        """Pass it on."""
        if self._inner.transport is not None:
            self._inner.pause_writing()

    @override
    def resume_writing(self) -> None:
        """Pass it on."""
        if self._inner.transport is not None:
            self._inner.resume_writing()

    def _watch(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._room.patience, self._late)

    def _late(self) -> None:
        self._timer = None
        if not self.busy:
            self.abort()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, answer: bytes) -> None:
        self._refused = True
        self._rest()
        if self._transport is not None:
            self._transport.write(answer)
            self._transport.close()


log = logging.getLogger(__name__)

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
_HERE = ("127.0.0.1", 0)

MakeApp = Callable[[App, Clock, Authenticator], ASGIApp]


async def check_bind(loaded: LoadedSettings, clock: Clock) -> None:
    """Refuse to be reachable by others while nobody would have to be known."""
    host = loaded.settings.gateway.host
    if listen.is_loopback(host):
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
    """Serve an open home, and say at which address, until it is time to leave."""
    gateway, control = app.settings.gateway, new_secret()
    server = _server(app, clock, control, make)
    own = listen.address_of(_reachable(gateway.host), listener)
    with (
        server_file.announced(app.home, own, control),
        metrics.beating(clock, app.observers.on_loop_lag),
    ):
        ready(listen.address_of(gateway.host, listener))
        beside = [
            asyncio.create_task(back_up_daily(app.loaded, clock)),
            asyncio.create_task(_fire_jobs(app)),
            asyncio.create_task(app.learned.curator.open()),
        ]
        try:
            await _until(stop, server, listener)
        finally:
            app.jobs.scheduler.close()
            app.learned.curator.close()
            for task in beside:
                task.cancel()


async def _fire_jobs(app: App) -> None:
    """Read cron.json, then fire jobs at their moments."""
    try:
        await app.jobs.reload()
    except UsageError as error:
        # The jobs that are known fire all the same.
        log.warning("cron.json is left as it is: %s", error)
    try:
        await app.jobs.scheduler.open()
    except LraError:
        log.exception("jobs are not fired")


async def serve_locally(
    app: App, clock: Clock, listener: socket.socket, stop: asyncio.Event, control: str
) -> None:
    """Serve an open home to the person's own programs, at a socket that only they can open."""

    def make(app: App, clock: Clock, door: Authenticator) -> ASGIApp:
        served = create_app(app, clock, door)

        async def at_home(scope: Scope, receive: Receive, send: Send) -> None:
            # A file has no address; whoever can open this one is on this machine.
            await served({**scope, "client": _HERE, "server": _HERE}, receive, send)

        return at_home

    await _until(stop, _server(app, clock, control, make), listener)


def _server(app: App, clock: Clock, control: str, make: MakeApp) -> "_Server":
    gateway = app.settings.gateway
    door = Authenticator(app.database, clock, gateway, app.settings.owner, control=control)
    room = SlowClients(places(gateway.max_sockets, handles(gateway.max_sockets)))
    if not room.knows_peers and not door.needs_token:
        log.warning("every user of this machine can come in: it does not say who connects")
    config = listen.configured(
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
    return _Server(config, door.connections)


async def _until(stop: asyncio.Event, server: uvicorn.Server, listener: socket.socket) -> None:
    async def leave() -> None:
        await stop.wait()
        server.should_exit = True

    leaving = asyncio.create_task(leave())
    try:
        await server.serve(sockets=[listener])
    finally:
        leaving.cancel()


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


_INTERRUPTED = 130


@contextlib.contextmanager
def interrupts() -> Generator[asyncio.Event]:
    """Hear Ctrl-C and the request to terminate: the first one asks, the second leaves at once."""
    asked, loop = asyncio.Event(), asyncio.get_running_loop()

    def heard() -> None:
        if asked.is_set():
            # As safe as any other death: what has to survive is on the disk.
            os._exit(_INTERRUPTED)
        asked.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, heard)
    try:
        yield asked
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)
