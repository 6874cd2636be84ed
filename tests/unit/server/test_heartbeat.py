"""The pulse of the event loop."""

import asyncio
import time

import pytest

from long_running_agents.clock import SystemClock
from long_running_agents.observe.metrics import BEAT, Heartbeat, beating
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("passed", "late"), [(BEAT, 0.0), (BEAT / 2, 0.0), (BEAT + 0.2, 0.2), (BEAT + 0.3, 0.3)]
)
async def test_a_beat_says_how_late_it_is(passed, late, caplog):
    clock, heard = FrozenClock(), []
    heart = Heartbeat(clock, heard.append)
    await clock.advance(passed)
    heart.beat()
    heart.beat()
    assert heard == [pytest.approx(late), 0.0]
    warned = [record.getMessage() for record in caplog.records]
    assert warned == (
        ["the event loop was blocked for 0.30 s: all clients had to wait"] if late > 0.25 else []
    )


async def test_a_blocked_loop_is_noticed_and_a_closed_watch_is_over():
    heard, beats = [], asyncio.Event()

    def lagged(seconds):
        heard.append(seconds)
        beats.set()

    with beating(SystemClock(), lagged):
        await beats.wait()
        beats.clear()
        # The very thing that nobody should do.
        time.sleep(BEAT + 0.4)  # noqa: ASYNC251
        await beats.wait()
        count = len(heard)
    assert max(heard) > 0.25
    time.sleep(2 * BEAT)  # noqa: ASYNC251
    await asyncio.sleep(0)
    assert len(heard) == count
