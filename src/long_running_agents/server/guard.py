"""The guard: stands before everything that is served, and finds out who asks."""

import asyncio
import math
from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from long_running_agents.domain.token import is_ours
from long_running_agents.errors import (
    Denied,
    LraError,
    Misdirected,
    TooLarge,
    TooMany,
    Unauthorized,
    Unavailable,
    UsageError,
)
from long_running_agents.listening import is_loopback
from long_running_agents.server import credentials, hosts
from long_running_agents.server.callers import CALLER
from long_running_agents.server.connections import End, Ending
from long_running_agents.server.door import Admitted, Door
from long_running_agents.server.dressing import dressed, permission
from long_running_agents.server.exchange import Exchange, Socket, answer_first
from long_running_agents.server.failures import refusal
from long_running_agents.server.routes.window import is_window
from long_running_agents.server.visit import Visit, visit_of

_UNGUARDED = frozenset({"/health", "/ready", "/login", "/logout"})
"""Paths for which nobody has to be known."""
_UPLOADS = "/api/files"
_V1 = "/v1/"
_HEADERS = 65_536
"""Bytes of headers that are taken."""


class Guard:
    """Refuses what was not meant for us, is too much, or comes from nobody we know.

    All of it happens before a body is read, a WebSocket accepted or a route chosen, and it is the
    same for every way in.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            visit = visit_of(scope)
        except UsageError as error:
            await refusal(error)(scope, receive, dressed(send, None))
            return
        send = dressed(send, self._listed(visit))
        try:
            self._check(visit)
            if self._is_preflight(visit):
                await _permit(visit)(scope, receive, send)
                return
            admitted = await self._admitted(visit)
        except LraError as error:
            await self._refuse(error, visit, scope, receive, send)
            return
        if admitted is not None:
            scope.setdefault("state", {})[CALLER] = admitted.caller
        if visit.kind == "websocket":
            await self._socket(visit, admitted, scope, receive, send)
        else:
            await self._exchange(visit, admitted, scope, receive, send)

    def _is_preflight(self, visit: Visit) -> bool:
        """Whether a browser asks if a page of an allowed site may ask."""
        asks = "access-control-request-method" in visit.headers
        return asks and visit.method == "OPTIONS" and self._listed(visit) is not None

    def _listed(self, visit: Visit) -> str | None:
        """The site of an allowed other server whose page asks."""
        origin = visit.origin
        allowed = self._door.gateway.allowed_origins
        return origin if origin is not None and hosts.is_listed(origin, allowed) else None

    def _check(self, visit: Visit) -> None:
        """Refuse what nobody may ask, whoever they are.

        Raises:
            LraError: It is refused.
        """
        if not is_loopback(visit.address):
            self._door.count(visit.address)
        if visit.size > _HEADERS:
            raise TooLarge("The headers are too long.", hint=f"At most {_HEADERS} bytes are taken.")
        self._check_host(visit)
        self._check_origin(visit)
        if credentials.in_address(visit.query):
            raise UsageError(
                "There is a secret in the address, where logs and histories keep it.",
                hint="Send it as 'Authorization: Bearer …', and revoke the one that was sent.",
            )
        length = visit.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._most(visit):
            raise _too_long(self._most(visit))

    def _check_host(self, visit: Visit) -> None:
        host = hosts.host_of(visit.host)
        if host is None or not hosts.is_known(host, visit.here, self._door.gateway.allowed_hosts):
            raise Misdirected(
                "This server does not go by the name in the Host header.",
                hint="If it should, add the name to gateway.allowed_hosts.",
            )

    def _check_origin(self, visit: Visit) -> None:
        origin = visit.origin
        if origin is None:
            site = visit.headers.get("sec-fetch-site", "")
            mode = visit.headers.get("sec-fetch-mode", "")
            refused = hosts.is_foreign_embedding(site, mode, visit.method)
        else:
            same = hosts.is_same_origin(origin, visit.scheme, visit.host)
            refused = not same and self._listed(visit) is None
        if refused:
            raise Denied(
                "Pages of other sites may not call this server.",
                hint="If this one may, add its origin to gateway.allowed_origins.",
            )

    async def _admitted(self, visit: Visit) -> Admitted | None:
        """Who asks; None for nobody, where nobody is enough.

        Raises:
            Unauthorized: They cannot be let in.
        """
        if visit.kind == "http" and is_window(visit.method, visit.path):
            # Its parts are many: a stale cookie would count as many wrong tokens.
            return None
        try:
            return await self._known(visit)
        except Unauthorized:
            if visit.path in _UNGUARDED and visit.kind == "http":
                return None
            raise

    async def _known(self, visit: Visit) -> Admitted:
        secret = credentials.presented(visit.headers, visit.protocols)
        if secret is not None and self._is_for_show(secret, visit):
            secret = None
        if secret is not None:
            return await self._door.admit(secret, visit.address, at_home=visit.on_this_machine)
        if self._is_local(visit):
            return self._door.local()
        raise Unauthorized(
            "A token is needed here.",
            hint="Make one with 'lra tokens create NAME', and send 'Authorization: Bearer …'.",
        )

    def _is_for_show(self, secret: str, visit: Visit) -> bool:
        """Whether a client of OpenAI's sends a key only because it has to send one."""
        return visit.path.startswith(_V1) and not is_ours(secret) and self._is_local(visit)

    def _is_local(self, visit: Visit) -> bool:
        """Whether a person's own programs ask, on the machine that they sit at."""
        host = hosts.host_of(visit.host) or ""
        direct = is_loopback(visit.address) and not visit.forwarded
        return direct and is_loopback(host) and not self._door.needs_token

    def _most(self, visit: Visit) -> int:
        gateway = self._door.gateway
        upload = visit.path == _UPLOADS or visit.path.startswith(f"{_UPLOADS}/")
        return max(gateway.max_upload, gateway.max_body) if upload else gateway.max_body

    async def _exchange(
        self, visit: Visit, admitted: Admitted | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        most = self._most(visit)
        exchange = Exchange(receive, send, most)
        with self._ending(admitted, exchange.end):
            await exchange.run(self._app, scope)
        if exchange.too_long:
            await self._refuse(_too_long(most), visit, scope, receive, send)

    async def _socket(
        self, visit: Visit, admitted: Admitted | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        place = hosts.neighbourhood(visit.address)
        if self._door.connections.full(place):
            full = Unavailable("Too many sockets are open.", hint="Close some, or come later.")
            await self._refuse(full, visit, scope, receive, send)
            return
        scope["subprotocols"] = credentials.spoken(visit.protocols)
        socket = Socket(send, named=credentials.PROTOCOL in scope["subprotocols"])
        with self._door.connections.socket(place), self._ending(admitted, socket.end):
            await self._app(scope, receive, socket.send)
            await socket.closed()

    async def _refuse(
        self, error: LraError, visit: Visit, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if visit.kind == "http" and visit.has_body:
            await answer_first(_answer(error, visit), receive, send, self._door.clock)
        else:
            await _answer(error, visit)(scope, receive, send)

    @contextmanager
    def _ending(self, admitted: Admitted | None, end: End) -> Generator[None]:
        """Have something ended with its token: when it is revoked, rotated, or expires."""
        token = None if admitted is None else admitted.token
        expiring: asyncio.Task[None] | None = None
        if token is not None and token.expires_at is not None:
            left = (token.expires_at - self._door.clock.now()).total_seconds()
            expiring = asyncio.create_task(self._expire(left, end))
        try:
            with self._door.connections.registered(None if token is None else token.id, end):
                yield
        finally:
            if expiring is not None:
                expiring.cancel()

    async def _expire(self, seconds: float, end: End) -> None:
        await self._door.clock.sleep(seconds)
        end(Ending.UNAUTHORIZED)


def _permit(visit: Visit) -> Response:
    asked = visit.headers.get("access-control-request-headers", "")
    return Response(status_code=HTTPStatus.NO_CONTENT, headers=permission(asked))


def _too_long(most: int) -> TooLarge:
    return TooLarge("The request is too long.", hint=f"At most {most} bytes are taken.")


def _answer(error: LraError, visit: Visit) -> Response:
    headers: dict[str, str] = {}
    if isinstance(error, TooMany):
        headers["Retry-After"] = str(math.ceil(error.seconds))
    if isinstance(error, Unauthorized) and credentials.COOKIE in visit.headers.get("cookie", ""):
        # A browser would send the same cookie for ever, and no script can take it away.
        headers["Set-Cookie"] = f"{credentials.COOKIE}=; Max-Age=0; Path=/"
    return refusal(error, headers)
