"""Middleware before all routes: authentication, rate limits, CORS, CSRF and security headers."""

import asyncio
import hmac
import re
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from long_running_agents.config.settings import GatewaySettings
from long_running_agents.domain.auth import Caller, Token, is_ours
from long_running_agents.domain.ports import Clock
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
from long_running_agents.net.listen import is_loopback
from long_running_agents.server import auth, hosts
from long_running_agents.server.auth import CALLER, Tokens
from long_running_agents.server.connections import (
    ConnectionEnd,
    Connections,
    End,
    HttpExchange,
    RateLimit,
    Socket,
    answer_first,
)
from long_running_agents.server.errors import refusal
from long_running_agents.server.hosts import RequestInfo, neighbourhood, visit_of
from long_running_agents.server.routes.ui import is_window
from long_running_agents.store.database import Database

_WRONG_PER_MINUTE = 10
_WRONG_AT_ONCE = 20
_BURST = 6
"""Requests of that part of a minute may come at once."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Somebody who was let in, and the token that did it, if it took one."""

    caller: Caller
    token: Token | None = None


class Authenticator:
    """Tokens, open connections and rate limits: what decides who is let in."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        gateway: GatewaySettings,
        owner: str,
        *,
        control: str = "",
    ) -> None:
        # With `control`, the person's own programs on this machine are let in.
        self.clock = clock
        self.gateway = gateway
        self.connections = Connections(gateway.max_sockets)
        self.tokens = Tokens(database, clock, ended=self.connections.end_of)
        self._owner = owner
        self._control = control
        self._wrong = RateLimit(clock, _WRONG_PER_MINUTE, _WRONG_AT_ONCE)
        often = gateway.requests_per_minute
        self._requests = RateLimit(clock, often, max(1.0, often / _BURST))

    @property
    def needs_token(self) -> bool:
        """Whether everybody needs a token."""
        return self.gateway.require_token or not is_loopback(self.gateway.host)

    def local(self) -> Admitted:
        """Somebody at this machine, who needs no token."""
        return Admitted(Caller(owner=self._owner, home=self._owner))

    def count(self, address: str) -> None:
        """Count a request from another machine against its rate limit."""
        if wait := self._requests.take(neighbourhood(address)):
            raise TooMany("There are too many requests from your address.", seconds=wait)

    async def admit(self, secret: str, address: str, *, at_home: bool = False) -> Admitted:
        """Let in whoever has a good token, also after too many bad ones from the same address."""
        control = self._control.encode()
        if control and at_home and hmac.compare_digest(secret.encode(), control):
            return self.local()
        token = await self.tokens.bearer(secret)
        if token is not None:
            own, home = token.owner, self._owner
            caller = Caller(owner=own, scopes=token.scopes, token_id=token.id, home=home)
            return Admitted(caller, token)
        if wait := self._wrong.take(neighbourhood(address)):
            raise TooMany("There were too many wrong tokens from your address.", seconds=wait)
        raise Unauthorized(
            "This token is not known, or no longer good.",
            hint="'lra tokens list' shows which are. On the server's own machine, send none.",
        )


_USUAL = (
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})
_NAMES = re.compile(r"[A-Za-z0-9, _-]{1,1000}")
_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_DAY = "86400"


def with_security_headers(send: Send, origin: str | None) -> Send:
    """Add security headers to every response, and those of CORS for a site that may read it.

    A page that has to load scripts sets a policy of its own, which is left alone.
    """
    own = [(b"vary", b"Origin")]
    if origin is not None:
        own.append((b"access-control-allow-origin", origin.encode("latin-1")))
        own.append((b"access-control-expose-headers", b"*"))

    async def sending(message: Message) -> None:
        if message["type"] in _STARTS:
            said = message.get("headers", ())
            names = {name.lower() for name, _ in said}
            message["headers"] = [*said, *(pair for pair in _USUAL if pair[0] not in names), *own]
        await send(message)

    return sending


def cors_permission(asked: str) -> dict[str, str]:
    """What a page of an allowed site may send, as the answer to a CORS preflight."""
    told = {"access-control-allow-methods": _METHODS, "access-control-max-age": _DAY}
    if _NAMES.fullmatch(asked):
        told["access-control-allow-headers"] = asked
    return told


_UNGUARDED = frozenset({"/health", "/ready", "/login", "/logout"})
"""Paths for which nobody has to be known."""
_HOOKS = "/hooks/"
"""Below it deliveries are signed instead."""
_UPLOADS = "/api/files"
Asgi = tuple[Scope, Receive, Send]
_V1 = "/v1/"
_HEADERS = 65_536
"""Bytes of headers that are taken."""


class Guard:
    """Refuses what was not meant for us, is too much, or comes from nobody we know.

    All of it happens before a body is read, a WebSocket accepted or a route chosen, and it is the
    same for every way in.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            visit = visit_of(scope)
        except UsageError as error:
            await refusal(error)(scope, receive, with_security_headers(send, None))
            return
        asgi = scope, receive, with_security_headers(send, self._listed(visit))
        try:
            self._check(visit)
            if self._is_preflight(visit):
                asked = visit.headers.get("access-control-request-headers", "")
                permitted = Response(None, HTTPStatus.NO_CONTENT, cors_permission(asked))
                await permitted(*asgi)
                return
            admitted = await self._admitted(visit)
        except LraError as error:
            await self._refuse(error, visit, asgi)
            return
        if admitted is not None:
            scope.setdefault("state", {})[CALLER] = admitted.caller
        pass_on = self._socket if visit.kind == "websocket" else self._exchange
        await pass_on(visit, admitted, asgi)

    def _is_preflight(self, visit: RequestInfo) -> bool:
        """Whether it is a CORS preflight for a page of an allowed origin."""
        asks = "access-control-request-method" in visit.headers
        return asks and visit.method == "OPTIONS" and self._listed(visit) is not None

    def _listed(self, visit: RequestInfo) -> str | None:
        """The site of an allowed other server whose page asks."""
        origin = visit.origin
        allowed = self._authenticator.gateway.allowed_origins
        return origin if origin is not None and hosts.is_listed(origin, allowed) else None

    def _check(self, visit: RequestInfo) -> None:
        """Refuse what nobody may ask, whoever they are."""
        if not is_loopback(visit.address):
            self._authenticator.count(visit.address)
        if visit.size > _HEADERS:
            raise TooLarge("The headers are too long.", hint=f"At most {_HEADERS} bytes are taken.")
        self._check_host(visit)
        self._check_origin(visit)
        if auth.in_address(visit.query):
            raise UsageError(
                "There is a secret in the address, where logs and histories keep it.",
                hint="Send it as 'Authorization: Bearer …', and revoke the one that was sent.",
            )
        length = visit.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._most(visit):
            raise _too_long(self._most(visit))

    def _check_host(self, visit: RequestInfo) -> None:
        """Refuse names that are not ours (DNS rebinding)."""
        host = hosts.host_of(visit.host)
        if host is None or not hosts.is_known(
            host, visit.here, self._authenticator.gateway.allowed_hosts
        ):
            raise Misdirected(
                "This server does not go by the name in the Host header.",
                hint="If it should, add the name to gateway.allowed_hosts.",
            )

    def _check_origin(self, visit: RequestInfo) -> None:
        """Refuse requests that a page of another site makes (CSRF)."""
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

    async def _admitted(self, visit: RequestInfo) -> Admitted | None:
        """Who asks; None for nobody, where nobody is enough."""
        if visit.kind == "http" and is_window(visit.method, visit.path):
            # Its parts are many: a stale cookie would count as many wrong tokens.
            return None
        try:
            return await self._known(visit)
        except Unauthorized:
            open_to_all = visit.path in _UNGUARDED or visit.path.startswith(_HOOKS)
            if open_to_all and visit.kind == "http":
                return None
            raise

    async def _known(self, visit: RequestInfo) -> Admitted:
        secret = auth.presented(visit.headers, visit.protocols)
        if secret is not None and self._is_for_show(secret, visit):
            secret = None
        if secret is not None:
            return await self._authenticator.admit(
                secret, visit.address, at_home=visit.on_this_machine
            )
        if self._is_local(visit):
            return self._authenticator.local()
        why = "This server belongs to another user: a" if self._is_at_home(visit) else "A"
        raise Unauthorized(
            f"{why} token is needed here.",
            hint="Make one with 'lra tokens create NAME', and send 'Authorization: Bearer …'.",
        )

    def _is_for_show(self, secret: str, visit: RequestInfo) -> bool:
        """Whether a client of OpenAI's sends a key only because it has to send one."""
        return visit.path.startswith(_V1) and not is_ours(secret) and self._is_local(visit)

    def _is_local(self, visit: RequestInfo) -> bool:
        """Whether a person's own programs ask, on the machine that they sit at."""
        return self._is_at_home(visit) and not visit.of_another_user

    def _is_at_home(self, visit: RequestInfo) -> bool:
        """Whether a program of this machine asks, and those need no token."""
        host = hosts.host_of(visit.host) or ""
        direct = is_loopback(visit.address) and not visit.forwarded
        return direct and is_loopback(host) and not self._authenticator.needs_token

    def _most(self, visit: RequestInfo) -> int:
        gateway = self._authenticator.gateway
        upload = visit.path == _UPLOADS or visit.path.startswith(f"{_UPLOADS}/")
        return max(gateway.max_upload, gateway.max_body) if upload else gateway.max_body

    async def _exchange(self, visit: RequestInfo, admitted: Admitted | None, asgi: Asgi) -> None:
        (scope, receive, send), most = asgi, self._most(visit)
        exchange = HttpExchange(receive, send, most)
        with self._ending(admitted, exchange.end):
            await exchange.run(self._app, scope)
        if exchange.too_long:
            await self._refuse(_too_long(most), visit, asgi)

    async def _socket(self, visit: RequestInfo, admitted: Admitted | None, asgi: Asgi) -> None:
        scope, receive, send = asgi
        place = hosts.neighbourhood(visit.address)
        if self._authenticator.connections.full(place):
            full = Unavailable("Too many sockets are open.", hint="Close some, or come later.")
            await self._refuse(full, visit, asgi)
            return
        scope["subprotocols"] = auth.spoken(visit.protocols)
        socket = Socket(send, named=auth.PROTOCOL in scope["subprotocols"])
        with self._authenticator.connections.socket(place), self._ending(admitted, socket.end):
            await self._app(scope, receive, socket.send)
            await socket.closed()

    async def _refuse(self, error: LraError, visit: RequestInfo, asgi: Asgi) -> None:
        if visit.kind == "http" and visit.has_body:
            await answer_first(_answer(error, visit), *asgi[1:], self._authenticator.clock)
        else:
            await _answer(error, visit)(*asgi)

    @contextmanager
    def _ending(self, admitted: Admitted | None, end: End) -> Generator[None]:
        """Have something ended with its token: when it is revoked, rotated, or expires."""
        token = None if admitted is None else admitted.token
        with ExitStack() as stack:
            if token is not None and token.expires_at is not None:
                left = (token.expires_at - self._authenticator.clock.now()).total_seconds()
                stack.callback(asyncio.create_task(self._expire(left, end)).cancel)
            key = None if token is None else token.id
            stack.enter_context(self._authenticator.connections.registered(key, end))
            yield

    async def _expire(self, seconds: float, end: End) -> None:
        await self._authenticator.clock.sleep(seconds)
        end(ConnectionEnd.UNAUTHORIZED)


def _too_long(most: int) -> TooLarge:
    return TooLarge("The request is too long.", hint=f"At most {most} bytes are taken.")


def _answer(error: LraError, visit: RequestInfo) -> Response:
    headers: dict[str, str] = {}
    if isinstance(error, Unauthorized) and auth.COOKIE in visit.headers.get("cookie", ""):
        # A browser would send the same cookie for ever, and no script can take it away.
        headers["Set-Cookie"] = f"{auth.COOKIE}=; Max-Age=0; Path=/"
    return refusal(error, headers)
