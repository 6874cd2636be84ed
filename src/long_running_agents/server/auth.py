"""Authentication: tokens and their scopes, secrets in requests, and who is at a local socket."""

import asyncio
import functools
import hmac
import os
import socket
import struct
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends
from fastapi.requests import HTTPConnection

from long_running_agents.domain.auth import (
    SCOPES,
    Caller,
    Token,
    TokenScope,
    digest,
    new_secret,
    plausible,
    scope_of,
)
from long_running_agents.domain.ids import TokenId, new_id
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Denied, Unauthorized, UsageError
from long_running_agents.store import decisions, tokens
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.decisions import AuditEntry

USUAL = frozenset({TokenScope.READ, TokenScope.CHAT, TokenScope.APPROVE})
"""What a token may do unless it is said."""

_LONGEST = 100
_NOTED = timedelta(minutes=1)
"""A use is written down at most that often."""
_KEY = 16
"""Characters of a digest that tokens are looked up by."""

Ended = Callable[[TokenId], None]
"""Hears that whoever came in by a token has to leave."""


@dataclass(frozen=True, slots=True)
class TokenSecret:
    """A token, and its secret for the one moment in which anybody knows it."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """The token that somebody wants to have."""

    name: str
    owner: str
    scopes: Collection[str] = USUAL
    expires_at: datetime | None = None


class Tokens:
    """The tokens of a home.

    Only the process that owns the home changes them, so what it holds in memory is the truth, and
    nobody asks the database who a caller is.
    """

    def __init__(self, database: Database, clock: Clock, *, ended: Ended | None = None) -> None:
        self._database = database
        self._clock = clock
        self._ended = ended
        self._standing: dict[str, tuple[str, Token]] | None = None
        self._loading = asyncio.Lock()

    async def every(self) -> list[Token]:
        """All tokens of all owners, revoked ones included."""
        return await self._database.read(tokens.every)

    async def any_good(self) -> bool:
        """Whether anybody could come in by a token now."""
        now = self._clock.now()
        return any(token.good(now) for token in await self.every())

    async def create(self, wish: TokenRequest, *, by: str) -> TokenSecret:
        """Make a token; who makes it goes to the audit log."""
        now = self._clock.now()
        _check(wish, now)
        secret = new_secret()
        token = Token(
            id=TokenId(new_id("token", now)),
            owner=wish.owner,
            name=wish.name.strip(),
            scopes=frozenset(wish.scopes),
            created_at=now,
            expires_at=wish.expires_at,
        )

        def work(tx: Transaction) -> Token:
            tokens.add(tx, token, digest(secret))
            return tokens.get(tx, token.id)

        return TokenSecret(await self._changed("create", by, work, secret), secret)

    async def rotate(self, token_id: TokenId, *, by: str) -> TokenSecret:
        """Give a token another secret; whoever came in by the old one has to leave."""
        secret = new_secret()
        token = await self._changed(
            "rotate", by, lambda tx: tokens.rotate(tx, token_id, digest(secret)), secret
        )
        return TokenSecret(token, secret)

    async def revoke(self, token_id: TokenId, *, by: str) -> Token:
        """Let a token be worth nothing; whoever came in by it has to leave."""
        now = self._clock.now()
        return await self._changed("revoke", by, lambda tx: tokens.revoke(tx, token_id, now))

    async def bearer(self, secret: str) -> Token | None:
        """The token that a secret stands for, if it is a good one; its use is written down."""
        if not plausible(secret):
            return None
        standing, offered, now = await self._loaded(), digest(secret), self._clock.now()
        found = _match(standing, offered)
        if found is None or not found.good(now):
            return None
        if found.used_at is None or now - found.used_at >= _NOTED:
            standing[offered[:_KEY]] = offered, replace(found, used_at=now)
            await self._database.write(lambda tx: tokens.use(tx, found.id, now))
            # It may have been revoked meanwhile.
            return _match(standing, offered)
        return found

    async def _loaded(self) -> dict[str, tuple[str, Token]]:
        async with self._loading:
            if self._standing is None:
                found = await self._database.read(tokens.by_digest)
                self._standing = {key[:_KEY]: (key, token) for key, token in found.items()}
        return self._standing

    async def _changed(
        self, what: str, by: str, work: Callable[[Transaction], Token], secret: str = ""
    ) -> Token:
        """Change a token and note it in the audit log; its earlier secret is worth nothing."""

        def noted(tx: Transaction) -> Token:
            token, action, now = work(tx), f"token.{what}", self._clock.now()
            detail = f"{token.name!r} of {token.owner!r}: {', '.join(sorted(token.scopes))}"
            entry = AuditEntry(at=now, actor=by, action=action, subject=token.id, detail=detail)
            decisions.note_admin(tx, entry)
            return token

        standing = await self._loaded()
        token = await self._database.write(noted)
        for key in [key for key, (_, each) in standing.items() if each.id == token.id]:
            del standing[key]
        if secret:
            standing[digest(secret)[:_KEY]] = digest(secret), token
        if self._ended is not None:
            self._ended(token.id)
        return token


def _match(standing: Mapping[str, tuple[str, Token]], offered: str) -> Token | None:
    """Find a token by a part of its digest, and compare the whole in constant time."""
    kept, token = standing.get(offered[:_KEY], ("", None))
    return token if hmac.compare_digest(kept, offered) else None


def _check(wish: TokenRequest, now: datetime) -> None:
    for what, text in (("name", wish.name), ("owner", wish.owner)):
        if not text.strip() or len(text) > _LONGEST or not text.isprintable():
            raise UsageError(
                f"That is no {what} of a token.", hint=f"Use 1 to {_LONGEST} printable characters."
            )
    if not wish.scopes:
        raise UsageError("A token that may do nothing is of no use.", hint=SCOPES)
    for scope in wish.scopes:
        scope_of(scope)
    if wish.expires_at is not None and wish.expires_at <= now:
        raise UsageError("The token would have expired already.", hint="Choose a later moment.")


CALLER = "caller"
"""Where in a connection's state the guard leaves the caller."""


def caller_of(connection: HTTPConnection) -> Caller:
    """Who opened a connection."""
    found = getattr(connection.state, CALLER, None)
    if not isinstance(found, Caller):
        raise Unauthorized("Nobody knows who asks.", hint="Send 'Authorization: Bearer …'.")
    return found


def check(caller: Caller, scope: str) -> Caller:
    """Let through whoever may do this."""
    if not caller.may(scope):
        raise Denied(
            f'This token lacks the "{scope}" scope.',
            hint=f"'lra tokens create --scope {scope}' makes one.",
        )
    return caller


@dataclass(frozen=True, slots=True)
class RequireScope:
    """Finds out who asks, and lets through whoever may do this."""

    scope: TokenScope

    async def __call__(self, connection: HTTPConnection) -> Caller:
        """The caller."""
        # Not a plain function: those are run in a thread each, which costs more than all they do.
        return check(caller_of(connection), self.scope)


async def _known(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


Known = Annotated[Caller, Depends(_known)]
"""Anybody who was let in; the route itself looks at what they may do."""
Reading = Annotated[Caller, Depends(RequireScope(TokenScope.READ))]
"""Somebody who may see the owner's things."""
Chatting = Annotated[Caller, Depends(RequireScope(TokenScope.CHAT))]
"""Somebody who may talk, and change the owner's things."""
Approving = Annotated[Caller, Depends(RequireScope(TokenScope.APPROVE))]
"""Somebody who may answer questions."""
Administering = Annotated[Caller, Depends(RequireScope(TokenScope.ADMIN))]
"""Somebody who may change settings and tokens."""


COOKIE = "lra_token"
PROTOCOL = "lra"
"""The WebSocket protocol that is spoken."""
_CARRIER = "lra.token."
"""What a token begins with among the protocols that a program offers."""
_SCHEME = "bearer"
_SECRET_NAMES = frozenset(
    {
        "access_token",
        "api-key",
        "api_key",
        "apikey",
        "auth",
        "auth_token",
        "authorization",
        "bearer",
        "password",
        "secret",
        "token",
    }
)
_PIECES = 1000


def in_address(query: bytes) -> bool:
    """Whether a query string has a secret in it, or anything that is named like one."""
    if not query:
        return False
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_PIECES)
    except ValueError:
        # So many fields are nobody's honest request.
        return True
    return any(name.lower() in _SECRET_NAMES or plausible(value) for name, value in pairs)


def presented(headers: Mapping[str, str], protocols: Sequence[str]) -> str | None:
    """The secret that a request carries; None if it carries none.

    What a program says explicitly goes before the cookie that a browser adds by itself.
    """
    if (said := headers.get("authorization")) is not None:
        scheme, _, secret = said.strip().partition(" ")
        return secret.strip() if scheme.lower() == _SCHEME else ""
    for protocol in protocols:
        if protocol.startswith(_CARRIER):
            return protocol.removeprefix(_CARRIER)
    cookies = (piece.strip().partition("=") for piece in headers.get("cookie", "").split(";"))
    return next((value for name, _, value in cookies if name == COOKIE), None)


def spoken(protocols: Sequence[str]) -> list[str]:
    """The protocols that are offered, without what carries a token."""
    return [protocol for protocol in protocols if not protocol.startswith(_CARRIER)]


PEER = "peer"
"""Where in a connection's state its peer is left."""

_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
_ERROR = 2
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBxI")
_ENDS = struct.Struct(">HH16s16sI8s")
_FOUND = struct.Struct("=xBxx48x12xII")
_CREDENTIALS = struct.Struct("=iII")
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = b"\xff" * 8
_CONNECTED = frozenset({1, 4, 5})
"""Established, or closed for writing alone."""
_LISTENING = 10
_PATIENCE = 5.0


class PeerCredentials:
    """The other end of one connection."""

    transport: asyncio.BaseTransport | None = None

    @functools.cached_property
    def is_us(self) -> bool:
        """Whether a program of this server's own user, or of root, is there; asked only once."""
        if self.transport is None:
            return False
        here = self.transport.get_extra_info("socket")
        if (family := here.family) == socket.AF_UNIX:
            credentials = here.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            return _CREDENTIALS.unpack(credentials)[1] in (0, os.geteuid())
        ends = (self.transport.get_extra_info(name) for name in ("peername", "sockname"))
        try:
            state, uid, inode = _look_up(family, *ends)
        except OSError:
            # It has left already, or there are no handles left: whoever it is waits for no answer.
            return False
        # A socket that its program has closed belongs to nobody, which reads as root.
        return state in _CONNECTED and inode != 0 and uid in (0, os.geteuid())


def can_be_known() -> bool:
    """Whether this machine says whose a connection is."""
    if sys.platform != "linux":
        return False
    with socket.create_server(("127.0.0.1", 0)) as own:
        try:
            state, uid, _ = _look_up(own.family, own.getsockname(), ("0.0.0.0", 0))  # noqa: S104 - nobody
        except OSError:
            return False
        return (state, uid) == (_LISTENING, os.geteuid())


def _look_up(family: int, near: Any, far: Any) -> tuple[int, int, int]:
    """The state, user and inode of a socket, by its own address and the one it leads to."""
    addresses = [socket.inet_pton(family, end[0].partition("%")[0]) for end in (near, far)]
    ends = _ENDS.pack(near[1], far[1], *addresses, 0, _NO_COOKIE)
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, _ANY_STATE) + ends
    header = _HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as line:
        line.settimeout(_PATIENCE)
        line.send(header + asked)
        answer = line.recv(4096)
    if _HEADER.unpack_from(answer)[1] == _ERROR:
        raise OSError(-struct.unpack_from("=i", answer, _HEADER.size)[0], "no such socket")
    return _FOUND.unpack_from(answer, _HEADER.size)
