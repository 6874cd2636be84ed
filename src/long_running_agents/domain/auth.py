"""Authentication: tokens, their scopes, and the caller that one stands for."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.ids import SessionId, TokenId, scoped
from long_running_agents.domain.session import MINE
from long_running_agents.errors import UsageError


class TokenScope(StrEnum):
    """What a caller may do."""

    READ = "read"
    """See the owner's sessions, memories, files and settings."""
    CHAT = "chat"
    """Talk, and change the owner's sessions, memories and files."""
    APPROVE = "approve"
    """Answer whether a call may run, and revoke such answers."""
    ADMIN = "admin"
    """Change settings, and make tokens for anybody."""


EVERYTHING = frozenset(TokenScope)
HOOK_SCOPE = r"hook:[a-z0-9][a-z0-9_-]{0,63}"
"""The scope of who may deliver to the webhook of one job, and nothing else."""


def scope_of(text: str) -> str:
    """The scope that a text names."""
    if text in EVERYTHING or re.fullmatch(HOOK_SCOPE, text):
        return text
    raise UsageError(f"There is no scope {text!r}.", hint=SCOPES)


SCOPES = f"Scopes are {', '.join(TokenScope)}, and hook:ID for the webhook of a job."


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token; the token itself is known to its bearer alone."""

    id: TokenId
    owner: str
    name: str
    scopes: frozenset[str]
    created_at: datetime
    used_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def good(self, now: datetime) -> bool:
        """Whether it still lets anybody in."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, as the server knows it: never as the caller says it."""

    owner: str
    scopes: frozenset[str] = field(default=EVERYTHING)
    token_id: TokenId | None = None
    """The token that let them in; None for somebody at this machine who needs none."""
    home: str = MINE
    """Whose home it is."""

    def key(self, name: str) -> SessionId:
        """The key of the session that they call so, whatever others call theirs."""
        return scoped(self.owner, self.home, name)

    def may(self, scope: str) -> bool:
        """Whether they may do this."""
        return scope in self.scopes


_PREFIX = "lra_"


def new_secret() -> str:
    """A token that nobody can guess: 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


_LOOKS = re.compile(rf"{_PREFIX}[A-Za-z0-9_-]{{43}}")


def is_ours(text: str) -> bool:
    """Whether this is meant to be a token of ours, good or not."""
    return text.startswith(_PREFIX)


def plausible(text: str) -> bool:
    """Whether this could be a token at all: 'undefined', 'null' and what is short never are."""
    return _LOOKS.fullmatch(text) is not None


def digest(secret: str) -> str:
    """What is stored of a token. It has enough bits of its own to need no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()
