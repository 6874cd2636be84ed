"""What to do when a model request fails: again, the next model, or give up."""

import re
from dataclasses import dataclass
from enum import StrEnum, auto

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_FIRST_SERVER_ERROR = 500
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window).{0,40}exceed|exceed.{0,60}context|maximum context"
    r"|context_length_exceeded|prompt is too long|too many tokens",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"insufficient.?(?:quota|credit|balance|funds)|billing", re.IGNORECASE)


class Trouble(StrEnum):
    """The kinds of failure that are treated differently."""

    TOO_LONG = auto()
    """The conversation does not fit into the model."""
    NOT_ALLOWED = auto()
    """The key is wrong, or the account is empty."""
    BUSY = auto()
    """The server asks for patience."""
    REFUSED = auto()
    """The request is wrong for this server, and will be so again."""
    BROKEN = auto()
    """The server failed; it may have recovered a moment later."""
    CUT = auto()
    """The connection failed, the stream was cut, or the answer was not JSON."""
    BUG = auto()
    """Something of ours."""


_REPEATED = frozenset({Trouble.BUSY, Trouble.BROKEN, Trouble.CUT})
"""What may be gone a moment later. All other trouble goes straight to the next model."""

_STATUSES = {
    401: Trouble.NOT_ALLOWED,
    402: Trouble.NOT_ALLOWED,
    403: Trouble.NOT_ALLOWED,
    408: Trouble.BROKEN,
    409: Trouble.BUSY,
    413: Trouble.TOO_LONG,
    425: Trouble.BUSY,
    429: Trouble.BUSY,
    501: Trouble.REFUSED,
}


@dataclass(frozen=True, slots=True)
class Again:
    """Make the same request once more after a wait."""

    wait: float


@dataclass(frozen=True, slots=True)
class NextModel:
    """This model will not do; ask the next one."""


Remedy = Again | NextModel


def remedy(error: Exception, *, attempt: int, retries: int) -> Remedy:
    """Decide after a failed request.

    Args:
        error: What went wrong.
        attempt: How many requests have failed so far, this one included.
        retries: How many repetitions a model gets.
    """
    if attempt > retries or trouble(error) not in _REPEATED:
        return NextModel()
    asked = getattr(error, "retry_after", None)
    wait = float(asked) if asked is not None else _FIRST_WAIT * 2 ** (attempt - 1)
    if wait > _LONGEST_WAIT:
        return NextModel()
    return Again(wait)


def trouble(error: Exception) -> Trouble:
    """What kind of failure an error is."""
    if not isinstance(error, ModelHTTPError):
        known = isinstance(error, ModelAPIError | UnexpectedModelBehavior)
        return Trouble.CUT if known else Trouble.BUG
    words = f"{error.provider_error_code or ''} {error.body}"
    if _TOO_LONG.search(words):
        return Trouble.TOO_LONG
    if _NO_MONEY.search(words):
        return Trouble.NOT_ALLOWED
    broken = error.status_code >= _FIRST_SERVER_ERROR
    return _STATUSES.get(error.status_code, Trouble.BROKEN if broken else Trouble.REFUSED)


def reason(error: Exception) -> str:
    """What went wrong, in a few words for a person."""
    if isinstance(error, ModelHTTPError):
        return f"HTTP {error.status_code}: {str(error.body)[:200].rstrip('. ')}"
    return str(error)[:200].rstrip(". ")
