"""The alarm: whoever was called finishes, whoever waits can be set anew."""

import asyncio
from datetime import timedelta

import pytest

from long_running_agents.agent.driver import Alarm
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


async def test_who_was_called_finishes_although_the_alarm_is_set_anew():
    clock, begun, go_on, done = FrozenClock(), asyncio.Event(), asyncio.Event(), []

    async def call():
        begun.set()
        await go_on.wait()
        done.append(clock.now())

    alarm = Alarm(clock, call)
    first, second = (clock.now() + timedelta(hours=hours) for hours in (1, 2))
    alarm.set(first)
    await clock.advance(3600)
    await begun.wait()
    alarm.set(second)
    go_on.set()
    await clock.advance(3600)
    assert done == [first, second]


async def test_nobody_is_called_once_it_is_closed():
    clock, called = FrozenClock(), []

    async def call():
        called.append("called")
        await asyncio.Event().wait()

    alarm = Alarm(clock, call)
    alarm.set(clock.now())
    await clock.advance(1)
    alarm.set(clock.now() + timedelta(hours=1))
    alarm.close()
    await clock.advance(7200)
    assert called == ["called"]
    assert clock.sleepers == 0
