"""Tokens: who is let in, on whose behalf, and how far. The tokens themselves are not here."""

from datetime import datetime

from sqlalchemy import insert, select, update

from long_running_agents.domain.auth import Token
from long_running_agents.domain.ids import TokenId
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import tokens

_token = row_reader(Token, scopes=lambda row: frozenset(row.scopes.split()))


def add(tx: Transaction, token: Token, digest: str) -> None:
    """Keep a new token by its digest."""
    scopes = " ".join(sorted(token.scopes))
    name = tx.redact(token.name)
    tx.execute(insert(tokens), row_values(tokens, token, name=name, digest=digest, scopes=scopes))


def every(tx: Transaction) -> list[Token]:
    """All tokens of all owners, the oldest first."""
    return [_token(row) for row in tx.execute(select(tokens).order_by(tokens.c.id))]


def by_digest(tx: Transaction) -> dict[str, Token]:
    """The tokens that nobody has revoked, by their digests."""
    query = select(tokens).where(tokens.c.revoked_at.is_(None))
    return {row.digest: _token(row) for row in tx.execute(query)}


def get(tx: Transaction, token_id: TokenId) -> Token:
    """One token."""
    row = tx.execute(select(tokens).where(tokens.c.id == token_id)).first()
    if row is None:
        raise NotFound(f"No token {token_id!r}.", hint="'lra tokens list' shows them.")
    return _token(row)


def rotate(tx: Transaction, token_id: TokenId, digest: str) -> Token:
    """Let another secret stand for a token; the one before is worth nothing from now on."""
    found = _standing(tx, token_id)
    tx.execute(update(tokens).where(tokens.c.id == token_id).values(digest=digest))
    return found


def revoke(tx: Transaction, token_id: TokenId, now: datetime) -> Token:
    """Let a token be worth nothing from now on."""
    _standing(tx, token_id)
    tx.execute(update(tokens).where(tokens.c.id == token_id).values(revoked_at=now))
    return get(tx, token_id)


def use(tx: Transaction, token_id: TokenId, now: datetime) -> None:
    """Write down that a token was used."""
    tx.execute(update(tokens).where(tokens.c.id == token_id).values(used_at=now))


def _standing(tx: Transaction, token_id: TokenId) -> Token:
    found = get(tx, token_id)
    if found.revoked_at is not None:
        raise Busy(f"Token {token_id!r} was revoked already.", hint="Create another one.")
    return found
