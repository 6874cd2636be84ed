"""What to do when a server gave no vectors: ask again, send less, or give up."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FIRST_WAIT = 0.5
_REPEATED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REFUSED_TEXT = frozenset({400, 413, 422, 500})
"""Some servers are broken by a long text rather than refuse it."""
_TOO_LONG = re.compile(
    r"context|too (?:long|large|many tokens)|(?:maximum|max).{0,20}(?:tokens|length)"
    r"|(?:input|token).{0,40}(?:exceed|larger|longer)|batch size",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long somebody is ready to wait."""

    timeout: float
    """Seconds for one answer."""
    retries: int
    longest_wait: float
    """Seconds between two attempts."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that holds no vectors."""

    reason: str
    status: int | None = None
    """None when the connection failed."""
    asked: float | None = None
    """The seconds the server wants us to wait."""


@dataclass(frozen=True, slots=True)
class Again:
    """Make the same request once more after a wait."""

    wait: float


@dataclass(frozen=True, slots=True)
class Shorter:
    """Send less text."""


def remedy(refusal: Refusal, attempt: int, patience: Patience) -> Again | Shorter | None:
    """Decide after a failed request; None means to give up.

    Args:
        refusal: What came back.
        attempt: How many requests have failed so far, this one included.
        patience: How long it may take.
    """
    if refusal.status in _REFUSED_TEXT and _TOO_LONG.search(refusal.reason):
        return Shorter()
    if refusal.status is not None and refusal.status not in _REPEATED:
        return None
    wait = _FIRST_WAIT * 2 ** (attempt - 1) if refusal.asked is None else refusal.asked
    if attempt > patience.retries or wait > patience.longest_wait:
        return None
    return Again(wait)


def seconds_asked(header: str | None, now: datetime) -> float | None:
    """What a Retry-After asks for: seconds, or a moment."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
