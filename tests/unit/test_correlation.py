"""For whom the code at hand works."""

import asyncio

import pytest

from long_running_agents import correlation
from long_running_agents.correlation import Cause

pytestmark = pytest.mark.anyio


async def test_a_turn_knows_the_request_that_began_it_and_nobody_else_does():
    with correlation.request("r1"):
        with correlation.turn("t1", "s1"):
            assert correlation.current() == Cause("r1", "t1", "s1")
        assert correlation.current() == Cause("r1")
    assert correlation.current() == Cause()


async def test_what_a_request_begins_goes_on_under_its_name():
    async def later():
        await asyncio.sleep(0)
        return correlation.current().request_id

    with correlation.request("r1"):
        task = asyncio.create_task(later())
    with correlation.request("r2"):
        assert await task == "r1"
