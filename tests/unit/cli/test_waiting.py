"""Waiting for a process that owns the home and cannot be joined yet."""

import asyncio

import pytest

from long_running_agents.cli.access import _AwaitedOwner
from long_running_agents.config import load
from long_running_agents.errors import HomeBusy
from long_running_agents.home import Home
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path):
    """A home that a process owns, as far as others can see."""
    home = Home(tmp_path)
    with home.owned():
        owned_by(home, 4711)
        yield home


def owned_by(home, pid):
    home.lock.write_text(str(pid))


async def test_each_process_that_owns_the_home_is_waited_for_as_long(home, capsys):
    clock = FrozenClock()
    awaited = _AwaitedOwner(load(home=home.path), clock)
    waiting = asyncio.create_task(awaited.announced())
    await clock.advance(149)
    owned_by(home, 4712)
    await clock.advance(149)
    assert not waiting.done()
    await clock.advance(2)
    with pytest.raises(HomeBusy, match="Process 4712 is using"):
        await waiting
    told = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in told] == [
        "waiting for process 4711",
        "waiting for process 4712",
    ]


async def test_a_process_that_never_answers_is_not_waited_for_anew_each_time(home):
    clock = FrozenClock()
    awaited = _AwaitedOwner(load(home=home.path), clock)
    home.server.write_text('{"pid": 4711, "address": "http://localhost", "secret": ""}')
    assert await awaited.announced()
    await clock.advance(149)
    assert await awaited.announced()
    await clock.advance(2)
    with pytest.raises(HomeBusy):
        await awaited.announced()
