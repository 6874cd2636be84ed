"""For whom the code at hand works."""

import asyncio

import pytest

from long_running_agents.observe import logs
from long_running_agents.observe.logs import Cause

pytestmark = pytest.mark.anyio


async def test_a_turn_knows_the_request_that_began_it_and_nobody_else_does():
    with logs.request("r1"):
        with logs.turn("t1", "s1"):
            assert logs.current() == Cause("r1", "t1", "s1")
        assert logs.current() == Cause("r1")
    assert logs.current() == Cause()


async def test_what_a_request_begins_goes_on_under_its_name():
    async def later():
        await asyncio.sleep(0)
        return logs.current().request_id

    with logs.request("r1"):
        task = asyncio.create_task(later())
    with logs.request("r2"):
        assert await task == "r1"
