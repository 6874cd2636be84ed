"""The link: the way to a server, which may be away for a while."""

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any

import httpx2
from websockets.asyncio.client import connect, unix_connect

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError, ServerAway, Unavailable, kind_of

SECONDS = 30.0
"""How long an answer is waited for, usually."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
PATIENCE = 60.0
"""Seconds for which a server that went away is waited for."""
_TAKEN_OVER = 400.0
"""Seconds for whoever opens a home after a terminal: ten times what a busy machine needs."""
_LARGEST = 16 << 20
"""Bytes of one event that are taken."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and what lets one in."""

    url: str
    """Such as http://127.0.0.1:8000, without a slash at its end."""
    secret: str = field(default="", repr=False)
    """A token; empty where none is needed."""
    socket: str = ""
    """The file of a local socket, where the server is another terminal's process."""
    pid: int = 0
    """That process."""

    @property
    def shown(self) -> str:
        """What it is called in front of people."""
        return f"process {self.pid}" if self.socket else f"the server at {self.url}"

    @property
    def headers(self) -> dict[str, str]:
        """What every request says of who asks."""
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}


Find = Callable[[], Address | None]
"""Says where the server is now; None while it is nowhere."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ServerReply:
    """What a server said."""

    status: int
    text: str
    body: Any
    """What the text says as JSON; None when it is something else."""


class Link:
    """Finds a server, asks it, and waits for it when it is away."""

    def __init__(
        self, find: Find, clock: Clock, *, patience: float = PATIENCE, tell: Tell = lambda _: None
    ) -> None:
        self.tell = tell
        """Hears that the server went away, and that it is back."""
        self.there = True
        """Whether the server answered when it was asked last."""
        self._find = find
        self._clock = clock
        self._patience = patience
        self.address: Address | None = None
        """Where the server is, or was when it went away; None before it was asked."""
        self._gone = False
        self._waiting = asyncio.Lock()
        # No proxy is asked for the way to this very machine, nor for one that has a name.
        self._http = httpx2.AsyncClient(timeout=SECONDS, trust_env=False)
        self._local: dict[str, httpx2.AsyncClient] = {}

    async def close(self) -> None:
        """Let go of all connections."""
        for each in (self._http, *self._local.values()):
            await each.aclose()

    async def ask(self, method: str, path: str, **wishes: Any) -> ServerReply:
        """Ask for something, once; when a terminal was asked and has ended, perhaps again.

        Its home is opened again in a moment, and what only reads or never arrived may be repeated.
        """
        asked: Address | None = None
        while True:
            address = self._here()
            try:
                return await self.once(method, path, **wishes)
            except ServerAway as away:
                again = method == "GET" or isinstance(away.__cause__, httpx2.ConnectError)
                # One that is there may have closed a connection at rest: it is asked once more.
                rested = isinstance(away.__cause__, httpx2.RemoteProtocolError | httpx2.ReadError)
                there = self._find() == address and (not rested or asked == address)
                if not again or not address.socket or there:
                    raise
            asked = address
            if self.address == address:
                self.lost()
            await self.back()

    async def once(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        text: str | None = None,
        query: Mapping[str, str | int | float | bool] | None = None,
        headers: Mapping[str, str] | None = None,
        accepted: Collection[int] = (),
        seconds: float = SECONDS,
    ) -> ServerReply:
        """Ask for something; refusals that are not `accepted` are raised.

        Raises:
            ServerAway: Nobody answers, and whether it was done is not known.
        """
        address = self._here()
        try:
            response = await self._to(address).request(
                method,
                f"{address.url}{path}",
                json=body,
                content=text,
                params=query,
                headers={**address.headers, **(headers or {})},
                timeout=httpx2.Timeout(SECONDS, read=seconds),
            )
        except httpx2.HTTPError as error:
            self.lost()
            raise _away(address) from error
        reply = ServerReply(response.status_code, response.text, _json(response))
        if response.is_success or reply.status in accepted:
            return reply
        raise _refusal(reply)

    async def insist(self, method: str, path: str, **wishes: Any) -> ServerReply:
        """Ask for something that may be asked twice, until the server is there to answer."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self.once(method, path, **wishes)
            except ServerAway:
                await self.back()
            # It may be there and on its way out.
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def socket(self, path: str) -> connect:
        """A WebSocket, to be opened by the caller."""
        address = self._here()
        connecting = partial(unix_connect, address.socket) if address.socket else connect
        return connecting(
            f"ws{address.url.removeprefix('http')}{path}",
            additional_headers=address.headers,
            proxy=None,
            compression=None,
            max_size=_LARGEST,
        )

    def lost(self) -> None:
        """Note that the server does not answer; told once."""
        if self.there:
            self.there = False
            self.tell(_gone(self.address))

    async def back(self, *, rested: int = 0) -> None:
        """Wait until the server is there again; one that was asked in vain gets time to breathe."""
        if rested:
            await self._clock.sleep(min(_FIRST_PAUSE * 2**rested, _LONGEST_PAUSE))
        async with self._waiting:
            if self.there:
                return
            terminal = self.address is not None and self.address.socket
            patience = _TAKEN_OVER if terminal else self._patience
            until = self._clock.monotonic() + patience
            pause = _FIRST_PAUSE
            while not self._gone:
                if (found := self._find()) is not None and await self._answers(found):
                    self.address, self.there = found, True
                    self.tell(_back(found))
                    return
                self._gone = self._clock.monotonic() >= until
                if not self._gone:
                    await self._clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            raise ServerAway(
                f"The server did not come back within {patience:.0f} seconds.",
                hint="What it was told is stored; it goes on when the server is started again.",
            )

    def _to(self, address: Address) -> httpx2.AsyncClient:
        if not address.socket:
            return self._http
        if address.socket not in self._local:
            way = httpx2.AsyncHTTPTransport(uds=address.socket)
            self._local[address.socket] = httpx2.AsyncClient(timeout=SECONDS, transport=way)
        return self._local[address.socket]

    def _here(self) -> Address:
        if self.address is None or not self.there:
            self.address = self._find() or self.address
        if self.address is None:
            raise ServerAway("The server is not running.", hint="'lra serve' starts it again.")
        return self.address

    async def _answers(self, address: Address) -> bool:
        try:
            response = await self._to(address).get(
                f"{address.url}/api/status", headers=address.headers
            )
        except httpx2.HTTPError:
            return False
        return response.is_success


def _gone(address: Address | None) -> str:
    if address is not None and address.socket:
        return f"process {address.pid}, which had the home open, has ended; taking over"
    return f"{'the server' if address is None else address.shown} went away; waiting for it"


def _back(address: Address) -> str:
    if not address.socket:
        return f"the server is back, at {address.url}"
    if address.pid == os.getpid():
        return "this terminal has opened the home itself; going on"
    return f"process {address.pid} has opened the home; going on there"


def _away(address: Address) -> ServerAway:
    shown = address.shown
    return ServerAway(
        f"{shown[0].upper()}{shown[1:]} does not answer.",
        hint="Run the command again." if address.socket else "'lra serve' starts it again.",
    )


def _json(response: httpx2.Response) -> Any:
    told = response.headers.get("content-type", "")
    if not response.content or not told.startswith("application/json"):
        return None
    try:
        return response.json()
    except ValueError as error:
        raise Unavailable(
            "The server answers something that cannot be read.", hint="Is it an lra server?"
        ) from error


def _refusal(reply: ServerReply) -> LraError:
    match reply.body:
        case {"code": str(code), "message": str(message), "hint": str(hint)}:
            # Plainly unavailable is a server that is about to leave.
            kind = ServerAway if code == Unavailable.code else kind_of(code)
            return kind(message, hint=hint)
        case _:
            said = f"The server answers with status {reply.status}."
    if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerAway(said)
    return Unavailable(said, hint="Is it an lra server?")
