"""Rates: how often somebody may do something."""

from collections import OrderedDict
from collections.abc import Hashable

from long_running_agents.domain.ports import Clock

_KNOWN = 10_000
"""Callers that are remembered; those who were quiet for the longest are forgotten first."""


class Rate:
    """So many times a minute for each caller, saved up while they are quiet."""

    def __init__(self, clock: Clock, per_minute: float, burst: float) -> None:
        self._clock = clock
        self._pace = per_minute / 60
        self._burst = burst
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, caller: Hashable) -> float:
        """Count one; the seconds to wait if that was one too many, else 0."""
        wait = self.wait(caller)
        if wait == 0:
            left, at = self._left[caller]
            self._left[caller] = left - 1, at
        return wait

    def wait(self, caller: Hashable) -> float:
        """The seconds until the caller may, without counting anything."""
        now = self._clock.monotonic()
        left, at = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._pace)
        self._left[caller] = left, now
        if len(self._left) > _KNOWN:
            self._left.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self._pace
