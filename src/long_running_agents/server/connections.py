"""Open connections and how we end them, rate limits, and the ids of requests."""

import asyncio
import re
import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager, nullcontext, suppress
from enum import IntEnum

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from long_running_agents.domain.ids import TokenId
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Unavailable
from long_running_agents.net.listen import is_loopback
from long_running_agents.observe import logs
from long_running_agents.observe.traces import continued
from long_running_agents.server.auth import PROTOCOL
from long_running_agents.server.errors import refusal

_SHARE = 4
"""One address gets this part of everything."""


class ConnectionEnd(IntEnum):
    """Why something is ended, as the code that closes a WebSocket."""

    LEAVING = 1012
    """The server stops; come again."""
    UNAUTHORIZED = 4401
    """The token was revoked, rotated, or has expired."""


End = Callable[[ConnectionEnd], None]


class Connections:
    """The open sockets and streams of a server."""

    def __init__(self, max_sockets: int) -> None:
        self._most = max_sockets
        self._open: set[tuple[TokenId | None, End]] = set()
        self._sockets: Counter[str] = Counter()

    @property
    def sockets(self) -> int:
        """How many WebSockets are open."""
        return self._sockets.total()

    def full(self, address: str) -> bool:
        """Whether one more WebSocket from this address would be too many."""
        own = self._sockets[address]
        return self.sockets >= self._most or own >= share(address, self._most)

    @contextmanager
    def socket(self, address: str) -> Generator[None]:
        """Count a WebSocket while inside."""
        self._sockets[address] += 1
        try:
            yield
        finally:
            self._sockets[address] -= 1
            if not self._sockets[address]:
                del self._sockets[address]

    @contextmanager
    def registered(self, token_id: TokenId | None, end: End) -> Generator[None]:
        """Have something ended when the token that let it in is, or when the server stops.

        It is ended at most once for each reason, and must not raise.
        """
        self._open.add((token_id, end))
        try:
            yield
        finally:
            self._open.discard((token_id, end))

    def end_of(self, token_id: TokenId) -> None:
        """End whatever came in by a token."""
        for end in [end for came_by, end in self._open if came_by == token_id]:
            end(ConnectionEnd.UNAUTHORIZED)

    def end_all(self) -> None:
        """End everything, since the server stops."""
        for _, end in list(self._open):
            end(ConnectionEnd.LEAVING)


def share(address: str, most: int) -> int:
    """How many of so many one address may have: all of them, if it is this machine."""
    return most if is_loopback(address) else max(1, most // _SHARE)


_REASONS = {
    ConnectionEnd.LEAVING: "the server stops",
    ConnectionEnd.UNAUTHORIZED: "the token is not good now",
}
_LINGER = 30.0
"""Seconds in which the rest of a refused request is taken."""


class _TooLong(Exception):
    """The body is longer than it may be."""


class HttpExchange:
    """A request and its response."""

    def __init__(self, receive: Receive, send: Send, most: int) -> None:
        self._receive = receive
        self._send = send
        self._left = most
        self._read = False
        self._started = False
        self._over = asyncio.Event()
        self._leaving = False
        self._task: asyncio.Task[object] | None = None
        self.too_long = False
        """Whether more came than may come; nothing was answered then."""

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        """Let an application answer."""
        self._task = asyncio.current_task()
        try:
            await app(scope, self._hear, self._say)
        except _TooLong:
            if self._started:
                raise
        except asyncio.CancelledError:
            if self._started or not self._leaving:
                raise
            leaving = Unavailable(
                "The server stops.", hint="What was begun goes on when it is back."
            )
            await refusal(leaving)(scope, self._receive, self._send)

    def end(self, why: ConnectionEnd) -> None:
        """Let a stream think that its client has left.

        An answer that has not begun is let through: the request was good when it came, and it may
        be the one that revokes its own token. But nobody waits for the rest of a request when the
        server stops.
        """
        self._leaving = self._leaving or why is ConnectionEnd.LEAVING
        if self._started:
            self._over.set()
        elif self._leaving and not self._read and self._task is not None:
            self._task.cancel()

    async def _hear(self) -> Message:
        if self._read:
            return await self._departure()
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        self._read = not message.get("more_body", False)
        if self._left < 0:
            self.too_long = not self._started
            raise _TooLong
        return message

    async def _departure(self) -> Message:
        """Wait until the client leaves, or is made to."""
        hearing = asyncio.ensure_future(self._receive())
        ending = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait((hearing, ending), return_when=asyncio.FIRST_COMPLETED)
            return hearing.result() if hearing.done() else {"type": "http.disconnect"}
        finally:
            hearing.cancel()
            ending.cancel()

    async def _say(self, message: Message) -> None:
        if self.too_long:
            # The guard answers, whatever the application makes of it.
            return
        self._started = True
        await self._send(message)


async def answer_first(response: Response, receive: Receive, send: Send, clock: Clock) -> None:
    """Answer, then take the rest of the request for a while and throw it away.

    A client that is still sending would otherwise find the line cut, and never read the answer.
    """
    head = [*response.raw_headers, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": response.status_code, "headers": head})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    draining = asyncio.ensure_future(_drain(receive))
    if not await clock.wait(draining, _LINGER):
        draining.cancel()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(receive: Receive) -> None:
    while (await receive()).get("more_body", False):
        pass


class Socket:
    """A WebSocket."""

    def __init__(self, send: Send, *, named: bool) -> None:
        self._send = send
        self._named = named
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    def end(self, why: ConnectionEnd) -> None:
        """Close it; whoever reads from it is told by the server that it is closed."""
        if not self._closed:
            self._closed = True
            message = {"type": "websocket.close", "code": int(why), "reason": _REASONS[why]}
            self._closing = asyncio.ensure_future(self._send_quietly(message))

    async def send(self, message: Message) -> None:
        """Send what the application says, unless the socket was closed from here."""
        if self._closed:
            return
        if message["type"] == "websocket.accept" and self._named:
            # A browser refuses a server that chooses none of the protocols it offered.
            message["subprotocol"] = message.get("subprotocol") or PROTOCOL
        if message["type"] == "websocket.close":
            self._closed = True
        await self._send(message)

    async def closed(self) -> None:
        """Wait until what was closed from here is."""
        if self._closing is not None:
            await self._closing

    async def _send_quietly(self, message: Message) -> None:
        # The client may have been faster.
        with suppress(OSError, RuntimeError):
            await self._send(message)


_KNOWN = 10_000
"""Callers that are remembered; those who were quiet for the longest are forgotten first."""


class RateLimit:
    """A rate limit: so many times a minute for each caller, saved up while they are quiet."""

    def __init__(self, clock: Clock, per_minute: float, burst: float) -> None:
        self._clock = clock
        self._pace = per_minute / 60
        self._burst = burst
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, caller: Hashable) -> float:
        """Count one; the seconds to wait if that was one too many, else 0."""
        wait = self.wait(caller)
        if wait == 0:
            left, at = self._left[caller]
            self._left[caller] = left - 1, at
        return wait

    def wait(self, caller: Hashable) -> float:
        """The seconds until the caller may, without counting anything."""
        now = self._clock.monotonic()
        left, at = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._pace)
        self._left[caller] = left, now
        if len(self._left) > _KNOWN:
            self._left.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self._pace


_NAME = "x-request-id"
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")
_STARTS = ("http.response.start", "websocket.accept", "websocket.http.response.start")


def accepted(given: str | None) -> str:
    """The name that a client gives its request, if it is short and harmless; or a new one."""
    return given if given and _HARMLESS.fullmatch(given) else secrets.token_hex(8)


class RequestIds:
    """Names each request, tells the client, and goes on with the trace it is a part of."""

    def __init__(self, app: ASGIApp, *, traced: bool = False) -> None:
        self._app = app
        self._traced = traced

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer under a name."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope)
        name = accepted(given.get(_NAME))
        header = (_NAME.encode(), name.encode())

        async def named(message: Message) -> None:
            if message["type"] in _STARTS:
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        trace = continued(given) if self._traced else nullcontext()
        with logs.request(name), trace:
            await self._app(scope, receive, named)
