"""What is open: sockets and streams, whose they are, and how they are ended from our side."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from long_running_agents.domain.ids import TokenId
from long_running_agents.listening import is_loopback

_SHARE = 4
"""One address gets this part of everything."""


class Ending(IntEnum):
    """Why something is ended, as the code that closes a WebSocket."""

    LEAVING = 1012
    """The server stops; come again."""
    UNAUTHORIZED = 4401
    """The token was revoked, rotated, or has expired."""


End = Callable[[Ending], None]


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    token_id: TokenId | None
    end: End


class Connections:
    """The open sockets and streams of a server."""

    def __init__(self, max_sockets: int) -> None:
        self._most = max_sockets
        self._open: set[_Open] = set()
        self._sockets: Counter[str] = Counter()

    @property
    def sockets(self) -> int:
        """How many WebSockets are open."""
        return self._sockets.total()

    def full(self, address: str) -> bool:
        """Whether one more WebSocket from this address would be too many."""
        own = self._sockets[address]
        return self.sockets >= self._most or own >= share(address, self._most)

    @contextmanager
    def socket(self, address: str) -> Generator[None]:
        """Count a WebSocket while inside."""
        self._sockets[address] += 1
        try:
            yield
        finally:
            self._sockets[address] -= 1
            if not self._sockets[address]:
                del self._sockets[address]

    @contextmanager
    def registered(self, token_id: TokenId | None, end: End) -> Generator[None]:
        """Have something ended when its token is, or when the server stops.

        Args:
            token_id: The token that let it in, if it took one.
            end: Ends it; called at most once for each reason, and must not raise.
        """
        entry = _Open(token_id, end)
        self._open.add(entry)
        try:
            yield
        finally:
            self._open.discard(entry)

    def end_of(self, token_id: TokenId) -> None:
        """End whatever came in by a token."""
        for entry in [each for each in self._open if each.token_id == token_id]:
            entry.end(Ending.UNAUTHORIZED)

    def end_all(self) -> None:
        """End everything, since the server stops."""
        for entry in list(self._open):
            entry.end(Ending.LEAVING)


def share(address: str, most: int) -> int:
    """How many of so many one address may have: all of them, if it is this machine."""
    return most if is_loopback(address) else max(1, most // _SHARE)
