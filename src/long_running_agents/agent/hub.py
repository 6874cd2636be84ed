"""The bell: tells every listener what has been stored, and passes words on."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from long_running_agents.domain.events import Passing, Recorded
from long_running_agents.domain.ids import SessionId

Heard = Recorded | Passing
CatchUp = Callable[[SessionId, int], Awaitable[Sequence[Recorded]]]
"""Reads a session's events after a number from the store."""

_LONGEST = 1000


class Listener:
    """One listener's ear: bounded, and never in the speaker's way.

    A listener that falls behind loses what it has not heard, and catches up from the store.
    """

    def __init__(self, session_id: SessionId, after: int, catch_up: CatchUp) -> None:
        self._session_id = session_id
        self._last = after
        self._catch_up = catch_up
        self._queue: deque[Heard] = deque()
        self._missed = True
        self._news = asyncio.Event()
        self._news.set()

    def hear(self, heard: Heard) -> None:
        """Take in something new without ever waiting."""
        if len(self._queue) >= _LONGEST:
            self._queue.clear()
            self._missed = True
        self._queue.append(heard)
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[Heard]:
        """What was stored since the given number, then what happens, without a gap."""
        while True:
            if self._missed:
                self._missed = False
                for recorded in await self._catch_up(self._session_id, self._last):
                    if self._is_new(recorded):
                        yield recorded
            while self._queue:
                heard = self._queue.popleft()
                if self._is_new(heard):
                    yield heard
            self._news.clear()
            if not (self._queue or self._missed):
                await self._news.wait()

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
        self._listeners: dict[SessionId, set[Listener]] = {}

    def publish(self, recorded: Sequence[Recorded]) -> None:
        """Ring events that are on disk."""
        for event in recorded:
            for listener in self._listeners.get(event.session_id, ()):
                listener.hear(event)

    def whisper(self, passing: Passing) -> None:
        """Pass a delta on to whoever listens right now."""
        for listener in self._listeners.get(passing.session_id, ()):
            listener.hear(passing)

    async def listen(self, session_id: SessionId, after: int) -> AsyncIterator[Heard]:
        """Hear a session from a number on, until the caller has had enough."""
        listener = Listener(session_id, after, self._catch_up)
        listeners = self._listeners.setdefault(session_id, set())
        listeners.add(listener)
        try:
            async for heard in listener:
                yield heard
        finally:
            listeners.discard(listener)
            if not listeners:
                self._listeners.pop(session_id, None)
