"""One exchange and one socket, as they pass the guard: counted, and ended from our side."""

import asyncio

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Unavailable
from long_running_agents.server.connections import Ending
from long_running_agents.server.credentials import PROTOCOL
from long_running_agents.server.failures import refusal

_REASONS = {Ending.LEAVING: "the server stops", Ending.UNAUTHORIZED: "the token is not good now"}
_LINGER = 5.0
"""Seconds in which the rest of a refused request is taken."""


class _TooLong(Exception):
    """The body is longer than it may be."""


class Exchange:
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

    def end(self, why: Ending) -> None:
        """Let a stream think that its client has left.

        An answer that has not begun is let through: the request was good when it came, and it may
        be the one that revokes its own token. But nobody waits for the rest of a request when the
        server stops.
        """
        self._leaving = self._leaving or why is Ending.LEAVING
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

    def end(self, why: Ending) -> None:
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
        try:
            await self._send(message)
        except (OSError, RuntimeError):
            # The client was faster.
            return
