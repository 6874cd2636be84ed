"""For whom the code at hand works: the request that came in, and the turn it is a part of."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something is done; empty where nobody knows."""

    request_id: str = ""
    turn_id: str = ""
    session_id: str = ""


_NOBODY = Cause()
_cause: ContextVar[Cause] = ContextVar("cause", default=_NOBODY)


def current() -> Cause:
    """Why the code at hand runs."""
    return _cause.get()


@contextmanager
def request(request_id: str) -> Generator[None]:
    """Work for a request while inside; whatever is begun there keeps its id."""
    with _within(Cause(request_id=request_id)):
        yield


@contextmanager
def turn(turn_id: str, session_id: str = "") -> Generator[None]:
    """Work for a turn while inside; the request that began it stays known."""
    with _within(replace(current(), turn_id=turn_id, session_id=session_id)):
        yield


@contextmanager
def _within(cause: Cause) -> Generator[None]:
    token = _cause.set(cause)
    try:
        yield
    finally:
        _cause.reset(token)
