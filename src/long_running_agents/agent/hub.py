"""The bell: tells every listener what has been stored, and passes words on."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from weakref import WeakSet

from long_running_agents.domain.events import Passing, Recorded
from long_running_agents.domain.ids import SessionId

Heard = Recorded | Passing
CatchUp = Callable[[SessionId, int], Awaitable[Sequence[Recorded]]]
"""Reads a session's events after a number from the store."""

_LONGEST = 1000


class Listener:
    """One listener's ear: open from the moment it is made, bounded, never in the speaker's way.

    A listener that falls behind loses what it has not heard, and catches up from the store.
    """

    def __init__(self, session_id: SessionId, after: int, catch_up: CatchUp) -> None:
        self._session_id = session_id
        self._last = after
        self._catch_up = catch_up
        self._queue: deque[Heard] = deque()
        self._missed = True
        self._closed = False
        self._news = asyncio.Event()

    def hear(self, heard: Heard) -> None:
        """Take in something new without ever waiting."""
        if len(self._queue) >= _LONGEST:
            self._queue.clear()
            self._missed = True
        self._queue.append(heard)
        self._news.set()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> Heard:
        """What was stored since the given number, then what happens, without a gap."""
        while not self._closed:
            if self._missed:
                self._missed = False
                self._queue.extendleft(reversed(await self._catch_up(self._session_id, self._last)))
            while self._queue:
                heard = self._queue.popleft()
                if self._is_new(heard):
                    return heard
            self._news.clear()
            await self._news.wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Hear nothing more."""
        self._closed = True
        self._news.set()

    def _is_new(self, heard: Heard) -> bool:
        if isinstance(heard, Passing):
            return True
        if heard.seq <= self._last:
            return False
        self._last = heard.seq
        return True


class Hub:
    """Numbered events and passing deltas to many listeners."""

    def __init__(self, catch_up: CatchUp) -> None:
        self._catch_up = catch_up
        # Weak: a listener that nobody holds any more is gone by itself.
        self._listeners: dict[SessionId, WeakSet[Listener]] = {}

    def publish(self, recorded: Sequence[Recorded]) -> None:
        """Ring events that are on disk."""
        for event in recorded:
            for listener in self._listeners.get(event.session_id, ()):
                listener.hear(event)

    def whisper(self, passing: Passing) -> None:
        """Pass a delta on to whoever listens right now."""
        for listener in self._listeners.get(passing.session_id, ()):
            listener.hear(passing)

    def listen(self, session_id: SessionId, after: int) -> Listener:
        """Hear a session from a number on, until the caller has had enough."""
        listener = Listener(session_id, after, self._catch_up)
        self._listeners.setdefault(session_id, WeakSet()).add(listener)
        return listener
