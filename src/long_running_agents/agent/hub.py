"""The bell: tells every listener what has been stored, and passes words on."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakSet

from long_running_agents.domain.events import (
    CLOSING,
    ApprovalRequested,
    DeltaEnvelope,
    EventEnvelope,
    FellBehind,
    RequestRetried,
    StepBegan,
    TextWritten,
    ToolCalled,
    WordsArrived,
)
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.session import MINE

Heard = EventEnvelope | DeltaEnvelope
CatchUp = Callable[[SessionId, str, int, int], Awaitable[Sequence[EventEnvelope]]]
"""Reads the events of an owner's session after a number from the store, up to so many."""

PAGE = 500
"""Events that are read from the store at once."""

_LONGEST = 1000
_ENDS_STEP = (TextWritten, ToolCalled, ApprovalRequested, *CLOSING)
"""Facts that stand for the words of a step, or for its end."""


class Subscriber:
    """One listener's ear: open from the moment it is made, bounded, never in the speaker's way.

    A listener that falls behind loses what it has not heard, and catches up from the store.
    """

    def __init__(
        self,
        session_id: SessionId,
        owner: str,
        after: int,
        catch_up: CatchUp,
        news: asyncio.Event | None = None,
    ) -> None:
        self.owner = owner
        self._session_id = session_id
        self._last = after
        self._catch_up = catch_up
        self._stored: deque[EventEnvelope] = deque()
        self._queue: deque[Heard] = deque()
        self._missed = True
        self._closed = False
        self._news = news or asyncio.Event()
        self._news.set()

    def hear(self, heard: Heard) -> None:
        """Take in something new without ever waiting."""
        if len(self._queue) >= _LONGEST:
            self._queue.clear()
            self._missed = True
            if heard.turn_id is not None:
                self._queue.append(
                    DeltaEnvelope(
                        session_id=heard.session_id,
                        turn_id=heard.turn_id,
                        owner=heard.owner,
                        delta=FellBehind(),
                    )
                )
        self._queue.append(heard)
        self._news.set()

    async def taken(self) -> Heard | None:
        """The next thing to hear; None when there is nothing right now."""
        while self._stored or self._missed or self._queue:
            if not self._stored and self._missed:
                self._missed = False
                page = await self._catch_up(self._session_id, self.owner, self._last, PAGE)
                # What was heard meanwhile stays in its order, with the words between.
                queued = (each.seq for each in self._queue if isinstance(each, EventEnvelope))
                first = next((seq for seq in queued if seq > self._last), None)
                missed = [each for each in page if first is None or each.seq < first]
                self._stored.extend(missed)
                # Whoever speaks meanwhile may say that more was missed.
                self._missed = self._missed or len(missed) == PAGE
                continue
            heard = self._stored.popleft() if self._stored else self._queue.popleft()
            if self._is_new(heard):
                return heard
        return None

    def __aiter__(self) -> "Subscriber":
        return self

    async def __anext__(self) -> Heard:
        """What was stored since the given number, then what happens, without a gap."""
        while not self._closed:
            self._news.clear()
            if (heard := await self.taken()) is not None:
                return heard
            await self._news.wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Hear nothing more."""
        self._closed = True
        self._news.set()

    def _is_new(self, heard: Heard) -> bool:
        if isinstance(heard, DeltaEnvelope):
            return True
        if heard.seq <= self._last:
            return False
        self._last = heard.seq
        return True


class ActivitySubscriber:
    """Hears all sessions of an owner from now on; when it falls behind, it is told what it lost."""

    def __init__(self, owner: str, news: asyncio.Event | None = None) -> None:
        self.owner = owner
        self._queue: deque[EventEnvelope] = deque()
        self._lost = 0
        self._news = news or asyncio.Event()

    def hear(self, heard: EventEnvelope) -> None:
        """Take in something new without ever waiting."""
        if len(self._queue) >= _LONGEST:
            self._lost += len(self._queue)
            self._queue.clear()
        self._queue.append(heard)
        self._news.set()

    def taken(self) -> EventEnvelope | int | None:
        """The next event, or how many were lost before it; None when there is nothing now."""
        if self._lost:
            lost, self._lost = self._lost, 0
            return lost
        return self._queue.popleft() if self._queue else None


class Hub:
    """Numbered events and passing deltas to many listeners, each of whom hears only its own."""

    def __init__(self, catch_up: CatchUp) -> None:
        self._catch_up = catch_up
        # Weak: a listener that nobody holds any more is gone by itself.
        self._listeners: dict[SessionId, WeakSet[Subscriber]] = {}
        self._overhearers: WeakSet[ActivitySubscriber] = WeakSet()
        self._attending: list[Callable[[EventEnvelope], None]] = []
        self._steps: dict[SessionId, _Step] = {}

    def publish(self, recorded: Sequence[EventEnvelope]) -> None:
        """Ring events that are on disk."""
        for event in recorded:
            if isinstance(event.event, _ENDS_STEP):
                self._steps.pop(event.session_id, None)
            for listener in self._ears(event.session_id):
                if listener.owner == event.owner:
                    listener.hear(event)
            for overhearer in self._overhearers:
                if overhearer.owner == event.owner:
                    overhearer.hear(event)
            for hear in self._attending:
                hear(event)

    def publish_delta(self, passing: DeltaEnvelope) -> None:
        """Pass a delta on to whoever listens right now."""
        self._note(passing)
        for listener in self._ears(passing.session_id):
            if listener.owner == passing.owner:
                listener.hear(passing)

    def listen(
        self,
        session_id: SessionId,
        after: int,
        owner: str = MINE,
        news: asyncio.Event | None = None,
    ) -> Subscriber:
        """Hear a session from a number on, until the caller has had enough.

        Whoever comes in the middle of a step hears its words so far first.
        """
        listener = Subscriber(session_id, owner, after, self._catch_up, news)
        self._listeners.setdefault(session_id, WeakSet()).add(listener)
        step = self._steps.get(session_id)
        if step is not None and step.began.owner == owner:
            for passing in step.so_far():
                listener.hear(passing)
        return listener

    def overhear(self, owner: str, news: asyncio.Event | None = None) -> ActivitySubscriber:
        """Hear all sessions of an owner from now on."""
        overhearer = ActivitySubscriber(owner, news)
        self._overhearers.add(overhearer)
        return overhearer

    def attend(self, hear: Callable[[EventEnvelope], None]) -> None:
        """Hear the sessions of all owners from now on, for whoever counts and tells nobody."""
        self._attending.append(hear)

    def _note(self, passing: DeltaEnvelope) -> None:
        match passing.delta:
            case StepBegan():
                self._steps[passing.session_id] = _Step(passing)
            case WordsArrived() if (step := self._steps.get(passing.session_id)) is not None:
                step.words.append(passing.delta.text)
            case RequestRetried() if (step := self._steps.get(passing.session_id)) is not None:
                step.words.clear()
            case _:
                pass

    def _ears(self, session_id: SessionId) -> Collection[Subscriber]:
        listeners = self._listeners.get(session_id, ())
        if not listeners:
            self._listeners.pop(session_id, None)
        return listeners


@dataclass(slots=True)
class _Step:
    """A step under way."""

    began: DeltaEnvelope
    words: list[str] = field(default_factory=list[str])

    def so_far(self) -> list[DeltaEnvelope]:
        """Its beginning and its words, as one who comes now hears them."""
        if not isinstance(self.began.delta, StepBegan) or not self.words:
            return [self.began]
        text = WordsArrived(text="".join(self.words), iteration=self.began.delta.iteration)
        return [self.began, replace(self.began, delta=text)]
