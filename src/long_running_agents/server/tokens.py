"""Making, rotating and revoking tokens, and knowing whose a secret is. Needs no running server."""

import asyncio
import hmac
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from long_running_agents.domain.ids import TokenId, new_id
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.token import Scope, Token, digest, new_secret, plausible
from long_running_agents.errors import UsageError
from long_running_agents.store import audit, tokens
from long_running_agents.store.database import Database, Transaction

USUAL = frozenset({Scope.READ, Scope.CHAT, Scope.APPROVE})
"""What a token may do unless it is said."""

_LONGEST = 100
_NOTED = timedelta(minutes=1)
"""A use is written down at most that often."""
_KEY = 16
"""Characters of a digest that tokens are looked up by."""

Ended = Callable[[TokenId], None]
"""Hears that whoever came in by a token has to leave."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A token, and its secret for the one moment in which anybody knows it."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The token that somebody wants to have."""

    name: str
    owner: str
    scopes: Collection[Scope] = USUAL
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

    async def create(self, wish: Wish, *, by: str) -> Issued:
        """Make a token.

        Args:
            wish: What it is to be.
            by: Who makes it, for the audit log.

        Raises:
            UsageError: It cannot be like that.
        """
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
            _note(tx, token, "token.create", by, now)
            return tokens.get(tx, token.id)

        standing = await self._loaded()
        kept = await self._database.write(work)
        standing[digest(secret)[:_KEY]] = digest(secret), kept
        return Issued(kept, secret)

    async def rotate(self, token_id: TokenId, *, by: str) -> Issued:
        """Give a token another secret; whoever came in by the old one has to leave."""
        now, secret = self._clock.now(), new_secret()

        def work(tx: Transaction) -> Token:
            token = tokens.rotate(tx, token_id, digest(secret))
            _note(tx, token, "token.rotate", by, now)
            return token

        standing = await self._loaded()
        token = await self._database.write(work)
        self._drop(standing, token_id)
        standing[digest(secret)[:_KEY]] = digest(secret), token
        return Issued(token, secret)

    async def revoke(self, token_id: TokenId, *, by: str) -> Token:
        """Let a token be worth nothing; whoever came in by it has to leave."""
        now = self._clock.now()

        def work(tx: Transaction) -> Token:
            token = tokens.revoke(tx, token_id, now)
            _note(tx, token, "token.revoke", by, now)
            return token

        standing = await self._loaded()
        token = await self._database.write(work)
        self._drop(standing, token_id)
        return token

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

    def _drop(self, standing: dict[str, tuple[str, Token]], token_id: TokenId) -> None:
        for key in [key for key, (_, token) in standing.items() if token.id == token_id]:
            del standing[key]
        if self._ended is not None:
            self._ended(token_id)


def _match(standing: Mapping[str, tuple[str, Token]], offered: str) -> Token | None:
    """Find a token by a part of its digest, and compare the whole in constant time."""
    kept, token = standing.get(offered[:_KEY], ("", None))
    return token if hmac.compare_digest(kept, offered) else None


def _check(wish: Wish, now: datetime) -> None:
    for what, text in (("name", wish.name), ("owner", wish.owner)):
        if not text.strip() or len(text) > _LONGEST or not text.isprintable():
            raise UsageError(
                f"That is no {what} of a token.", hint=f"Use 1 to {_LONGEST} printable characters."
            )
    if not wish.scopes:
        raise UsageError(
            "A token that may do nothing is of no use.", hint=f"Scopes are {', '.join(Scope)}."
        )
    if wish.expires_at is not None and wish.expires_at <= now:
        raise UsageError("The token would have expired already.", hint="Choose a later moment.")


def _note(tx: Transaction, token: Token, action: str, by: str, now: datetime) -> None:
    detail = f"{token.name!r} of {token.owner!r}: {', '.join(sorted(token.scopes))}"
    audit.note(tx, audit.Entry(at=now, actor=by, action=action, subject=token.id, detail=detail))
