from datetime import UTC, timedelta

import pytest

from long_running_agents.clock import SystemClock

pytestmark = pytest.mark.anyio


async def test_the_system_clock_tells_utc_and_waits():
    clock = SystemClock()
    first, started = clock.now(), clock.monotonic()

    await clock.sleep(0.001)

    assert first.tzinfo is UTC
    assert clock.now() - first < timedelta(seconds=60)
    assert clock.monotonic() - started >= 0.001
