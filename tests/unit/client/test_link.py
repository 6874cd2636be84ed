"""Waiting for a server that is away, without a clock on the wall."""

import asyncio

import pytest

from long_running_agents.client.link import Address, Link
from long_running_agents.errors import ServerAway
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


def nowhere():
    return None


async def test_a_server_that_does_not_come_back_is_given_up_in_time():
    clock, told = FrozenClock(), []
    link = Link(nowhere, clock, patience=60, tell=told.append)
    link.lost()
    link.lost()
    waiting = asyncio.create_task(link.back())
    await clock.advance(59)
    assert not waiting.done()
    await clock.advance(2)
    with pytest.raises(ServerAway, match="within 60 seconds") as caught:
        await waiting
    assert caught.value.exit_code == 75
    assert len(told) == 1


async def test_whoever_asks_after_that_does_not_wait_again():
    clock = FrozenClock()
    link = Link(nowhere, clock, patience=0)
    link.lost()
    for _ in range(2):
        with pytest.raises(ServerAway):
            await link.back()


async def test_a_server_that_is_nowhere_is_away():
    link = Link(nowhere, FrozenClock())
    with pytest.raises(ServerAway, match="is not running"):
        await link.ask("GET", "/api/status")
    await link.close()


def test_a_secret_is_sent_and_never_shown_in_an_address():
    address = Address("http://127.0.0.1:8000", "lra_secret")
    assert address.headers == {"Authorization": "Bearer lra_secret"}
    assert Address("http://127.0.0.1:8000").headers == {}
    assert "lra_secret" not in repr(address)


async def test_an_answer_is_waited_for_as_long_as_the_question_says():
    asked = []
    silent = await asyncio.start_server(lambda _, writer: asked.append(writer), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    link = Link(lambda: Address(f"http://127.0.0.1:{port}"), FrozenClock())
    async with asyncio.timeout(200):
        with pytest.raises(ServerAway, match="does not answer"):
            await link.ask("GET", "/api/status", seconds=0.05)
    await link.close()
    for writer in asked:
        writer.close()
        await writer.wait_closed()
    silent.close()
