"""The waiting room: connections that have not asked anything yet, or not for a while.

uvicorn waits for the first request of a connection as long as the client likes, and holds as many
of them as the machine has handles. Here they have a few seconds, and when there are too many, the
one that has been quiet for the longest makes room for the next.
"""

import asyncio
import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any, cast

from typing_extensions import override
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from long_running_agents.server.connections import share
from long_running_agents.server.hosts import neighbourhood

_HEAD = 65_536
"""Bytes that may come before a request is complete."""
_PATIENCE = 10.0


def _refusal(status: HTTPStatus, code: str, message: str) -> bytes:
    """A whole response in the one shape, for those who have not got as far as a route."""
    none: list[str] = []
    body = json.dumps(
        {"type": "error", "code": code, "message": message, "hint": "", "fields": none}
    )
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
    ).encode()


_TOO_LONG = _refusal(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large", "The headers are too long."
)
_FULL = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "Too many connections are open.")


class WaitingRoom:
    """The connections of a server, as long as they are not WebSockets."""

    def __init__(
        self,
        most: int,
        patience: float = _PATIENCE,
        inner: Callable[..., asyncio.Protocol] = AutoHTTPProtocol,
    ) -> None:
        """Open a room.

        Args:
            most: How many connections there may be.
            patience: Seconds in which a request has to be complete but for its body.
            inner: uvicorn's protocol, of which there are two.
        """
        self._most = most
        self._inner = inner
        self.patience = patience
        self._guests: OrderedDict[Guest, str] = OrderedDict()
        self._places: Counter[str] = Counter()

    def protocol(self, **options: Any) -> asyncio.Protocol:
        """What uvicorn makes for each connection."""
        return Guest(self, self._inner(**options))

    def enter(self, guest: "Guest", address: str) -> bool:
        """Let a connection in, if need be in place of a quiet one; False if nobody is quiet."""
        place = neighbourhood(address)
        if self._places[place] >= share(address, self._most) and not self._make_room({place}):
            return False
        if len(self._guests) >= self._most and not self._make_room(self._places):
            return False
        self._guests[guest] = place
        self._places[place] += 1
        return True

    def leave(self, guest: "Guest") -> None:
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


class Guest(asyncio.Protocol):
    """A connection, with uvicorn's own protocol inside."""

    def __init__(self, room: WaitingRoom, inner: Any) -> None:
        self._room = room
        self._inner = inner
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
