"""The bell: tells every listener what has been stored, and passes words on."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from weakref import WeakSet

from long_running_agents.domain.events import Passing, Recorded
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.session import MINE

Heard = Recorded | Passing
CatchUp = Callable[[SessionId, str, int], Awaitable[Sequence[Recorded]]]
"""Reads the events of an owner's session after a number from the store."""

_LONGEST = 1000


class Listener:
    """One listener's ear: open from the moment it is made, bounded, never in the speaker's way.

    A listener that falls behind loses what it has not heard, and catches up from the store.
    """

    def __init__(self, session_id: SessionId, owner: str, after: int, catch_up: CatchUp) -> None:
        self._session_id = session_id
        self.owner = owner
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

    def again(self, after: int) -> None:
        """Hear everything after a number once more."""
        self._queue.clear()
        self._last = after
        self._missed = True
        self._news.set()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> Heard:
        """What was stored since the given number, then what happens, without a gap."""
        while not self._closed:
            if self._missed:
                self._missed = False
                stored = await self._catch_up(self._session_id, self.owner, self._last)
                if self._missed:
                    # Asked to begin elsewhere while the store was read.
                    continue
                self._queue.extendleft(reversed(stored))
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


class Overhearer:
    """Hears all sessions of an owner from now on; when it falls behind, it is told what it lost."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._queue: deque[Recorded] = deque()
        self._lost = 0
        self._closed = False
        self._news = asyncio.Event()

    def hear(self, heard: Recorded) -> None:
        """Take in something new without ever waiting."""
        if len(self._queue) >= _LONGEST:
            self._lost += len(self._queue)
            self._queue.clear()
        self._queue.append(heard)
        self._news.set()

    def __aiter__(self) -> "Overhearer":
        return self

    async def __anext__(self) -> Recorded | int:
        """The next event, or how many were lost before it."""
        while not self._closed:
            if self._lost:
                lost, self._lost = self._lost, 0
                return lost
            if self._queue:
                return self._queue.popleft()
            self._news.clear()
            await self._news.wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Hear nothing more."""
        self._closed = True
        self._news.set()


class Hub:
    """Numbered events and passing deltas to many listeners, each of whom hears only its own."""

    def __init__(self, catch_up: CatchUp) -> None:
        self._catch_up = catch_up
        # Weak: a listener that nobody holds any more is gone by itself.
        self._listeners: dict[SessionId, WeakSet[Listener]] = {}
        self._overhearers: WeakSet[Overhearer] = WeakSet()

    def publish(self, recorded: Sequence[Recorded]) -> None:
        """Ring events that are on disk."""
        for event in recorded:
            for listener in self._ears(event.session_id):
                if listener.owner == event.owner:
                    listener.hear(event)
            for overhearer in self._overhearers:
                if overhearer.owner == event.owner:
                    overhearer.hear(event)

    def whisper(self, passing: Passing) -> None:
        """Pass a delta on to whoever listens right now."""
        for listener in self._ears(passing.session_id):
            if listener.owner == passing.owner:
                listener.hear(passing)

    def listen(self, session_id: SessionId, after: int, owner: str = MINE) -> Listener:
        """Hear a session from a number on, until the caller has had enough."""
        listener = Listener(session_id, owner, after, self._catch_up)
        self._listeners.setdefault(session_id, WeakSet()).add(listener)
        return listener

    def _ears(self, session_id: SessionId) -> Collection[Listener]:
        listeners = self._listeners.get(session_id, ())
        if not listeners:
            self._listeners.pop(session_id, None)
        return listeners

    def overhear(self, owner: str) -> Overhearer:
        """Hear all sessions of an owner from now on."""
        overhearer = Overhearer(owner)
        self._overhearers.add(overhearer)
        return overhearer
