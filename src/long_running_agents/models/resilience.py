"""What to do when a model request fails: again, the next model, or give up."""

from dataclasses import dataclass

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior

_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that may be gone a moment later."""

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0


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
    if attempt > retries or not _passing(error):
        return NextModel()
    asked = getattr(error, "retry_after", None)
    wait = float(asked) if asked is not None else _FIRST_WAIT * 2 ** (attempt - 1)
    if wait > _LONGEST_WAIT:
        return NextModel()
    return Again(wait)


def _passing(error: Exception) -> bool:
    if isinstance(error, ModelHTTPError):
        return error.status_code in _AGAIN
    # No status: the connection failed, the stream was cut, or the answer was not JSON.
    return isinstance(error, ModelAPIError | UnexpectedModelBehavior)


def reason(error: Exception) -> str:
    """What went wrong, in a few words for a person."""
    if isinstance(error, ModelHTTPError):
        return f"HTTP {error.status_code}: {str(error.body)[:200].rstrip('. ')}"
    return str(error)[:200].rstrip(". ")
