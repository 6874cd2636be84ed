import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


async def noting(clock, seconds, notes):
    await clock.sleep(seconds)
    notes.append((seconds, clock.monotonic()))


def test_it_is_a_clock_that_stands_still():
    clock = FrozenClock(datetime(2030, 5, 1, 12, tzinfo=UTC))

    assert clock.now() == clock.now() == datetime(2030, 5, 1, 12, tzinfo=UTC)
    assert clock.monotonic() == 0


async def test_advancing_moves_both_times():
    clock = FrozenClock()
    start = clock.now()

    await clock.advance(1.5)

    assert clock.now() - start == timedelta(seconds=1.5)
    assert clock.monotonic() == 1.5


async def test_sleepers_wake_in_the_order_of_their_deadlines_at_their_deadlines():
    clock, notes = FrozenClock(), []
    async with asyncio.TaskGroup() as group:
        for seconds in (3, 1, 2):
            group.create_task(noting(clock, seconds, notes))
        await clock.advance(2.5)
        assert notes == [(1, 1.0), (2, 2.0)]
        assert clock.sleepers == 1
        await clock.advance(0.5)
    assert notes[-1] == (3, 3.0)
    assert clock.sleepers == 0


async def test_a_sleeper_waits_until_its_deadline_is_reached():
    clock, notes = FrozenClock(), []
    task = asyncio.create_task(noting(clock, 1, notes))

    await clock.advance(0.999)
    assert not task.done()
    await clock.advance(0.001)
    await task


async def test_small_steps_add_up_exactly():
    clock, notes = FrozenClock(), []
    task = asyncio.create_task(noting(clock, 1, notes))

    for _ in range(10):
        await clock.advance(0.1)

    assert task.done()


async def test_one_long_advance_serves_a_loop_that_sleeps_again_and_again():
    clock, ticks = FrozenClock(), []

    async def tick():
        while True:
            await clock.sleep(60)
            ticks.append(clock.monotonic())

    task = asyncio.create_task(tick())
    await clock.advance(300)
    task.cancel()

    assert ticks == [60, 120, 180, 240, 300]


async def test_a_cancelled_sleeper_is_forgotten():
    clock = FrozenClock()
    tasks = [asyncio.create_task(clock.sleep(seconds)) for seconds in (1, 2, 3)]
    await clock.advance(0)
    assert clock.sleepers == 3

    tasks[0].cancel()
    await asyncio.wait(tasks[:1])
    assert clock.sleepers == 2
    await clock.advance(2)
    assert [task.done() for task in tasks] == [True, True, False]
    await clock.advance(1)


async def test_sleeping_for_no_time_returns():
    clock = FrozenClock()

    await clock.sleep(0)
    await clock.sleep(-1)

    assert clock.sleepers == 0


async def test_the_wall_clock_can_go_back_while_sleepers_do_not_notice():
    clock, notes = FrozenClock(datetime(2026, 3, 2, tzinfo=UTC)), []
    task = asyncio.create_task(noting(clock, 10, notes))
    await clock.advance(9)

    clock.set(datetime(2026, 3, 1, tzinfo=UTC))

    assert clock.monotonic() == 9
    assert not task.done()
    await clock.advance(1)
    assert clock.now() == datetime(2026, 3, 1, 0, 0, 1, tzinfo=UTC)
    assert task.done()


async def test_nonsense_is_refused():
    clock = FrozenClock()

    with pytest.raises(ValueError, match="use set"):
        await clock.advance(-1)
    with pytest.raises(ValueError, match="no time zone"):
        clock.set(datetime(2026, 1, 1))  # noqa: DTZ001
