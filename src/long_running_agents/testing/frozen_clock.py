"""A clock that a test moves by hand."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from typing import Any

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_NANOSECONDS = 1_000_000_000
# A woken task may need a few rounds of the loop until it waits again: one per await on its way.
_ROUNDS = 50


class FrozenClock:
    """A `Clock` whose time passes only when the test says so."""

    def __init__(self, start: datetime = _START) -> None:
        self._anchor = _aware(start)
        self._anchored_at = 0
        # Whole nanoseconds: ten steps of 0.1 seconds must make exactly one second.
        self._elapsed = 0
        self._order = 0
        self._sleepers: list[tuple[int, int, asyncio.Event]] = []

    @property
    def sleepers(self) -> int:
        """How many tasks are waiting for the time to pass."""
        return len(self._sleepers)

    def now(self) -> datetime:
        """The moment the clock shows."""
        return self._anchor + timedelta(microseconds=(self._elapsed - self._anchored_at) / 1000)

    def monotonic(self) -> float:
        """The seconds it was advanced by so far."""
        return self._elapsed / _NANOSECONDS

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced by that much."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        self._order += 1
        sleeper = (self._elapsed + round(seconds * _NANOSECONDS), self._order, asyncio.Event())
        heapq.heappush(self._sleepers, sleeper)
        try:
            await sleeper[2].wait()
        except asyncio.CancelledError:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)
            raise

    async def wait(self, task: asyncio.Future[Any], seconds: float) -> bool:
        """Wait for a task, or until the clock has been advanced by that much."""
        alarm = asyncio.create_task(self.sleep(seconds))
        try:
            await asyncio.wait({task, alarm}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
        return task.done()

    async def advance(self, seconds: float) -> None:
        """Let time pass, waking sleepers in the order of their deadlines.

        After each one the loop runs, so that a sleeper which sleeps again is woken again in time.
        Work that waits for a thread or a socket may still be under way afterwards.

        Raises:
            ValueError: The seconds are negative; `set` moves the wall clock backwards.
        """
        if seconds < 0:
            raise ValueError(
                f"Time cannot advance by {seconds} seconds: use set() to move the wall clock back."
            )
        await _settle()
        target = self._elapsed + round(seconds * _NANOSECONDS)
        while self._sleepers and self._sleepers[0][0] <= target:
            deadline, _, event = heapq.heappop(self._sleepers)
            self._elapsed = deadline
            event.set()
            await _settle()
        self._elapsed = target

    def set(self, moment: datetime) -> None:
        """Set the wall clock, even backwards; sleepers and `monotonic` do not notice."""
        self._anchor = _aware(moment)
        self._anchored_at = self._elapsed


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(
            f"{moment.isoformat()} has no time zone: expected datetime(…, tzinfo=UTC)."
        )
    return moment.astimezone(UTC)


async def _settle() -> None:
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
