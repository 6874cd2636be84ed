"""Waiting for a server that is away, without a clock on the wall."""

import asyncio
from contextlib import asynccontextmanager

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


STOPS = '{"code": "unavailable", "message": "The server stops.", "hint": ""}'


@asynccontextmanager
async def terminal(socket, status):
    """A terminal's process that answers all with one status, or nobody; yields what is asked."""
    asked = []

    async def hear(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).split()[0].decode())
        if status is not None:
            head = f"HTTP/1.1 {status} .\r\ncontent-type: application/json\r\n"
            writer.write(f"{head}content-length: {len(STOPS)}\r\n\r\n{STOPS}".encode())
        writer.close()

    server = await asyncio.start_unix_server(hear, socket)
    try:
        yield asked
    finally:
        server.close()


@asynccontextmanager
async def moving(*sockets):
    """A link that finds its server somewhere else each time it looks, then stays at the last."""
    places = [Address("http://localhost", socket=str(socket), pid=1) for socket in sockets]
    link = Link(lambda: places.pop(0) if places[1:] else places[0], FrozenClock())
    try:
        yield link
    finally:
        await link.close()


@pytest.mark.parametrize("status", [None, 503])
async def test_what_only_reads_is_asked_again_where_the_home_of_a_terminal_is_opened_next(
    tmp_path, status
):
    old, new = tmp_path / "old", tmp_path / "new"
    async with (
        terminal(old, status) as before,
        terminal(new, 200) as after,
        moving(old, new) as link,
    ):
        told = []
        link.tell = told.append
        assert (await link.ask("GET", "/api/sessions")).status == 200
    assert (before, after) == (["GET"], ["GET", "GET"])
    assert len(told) == 2


async def test_what_may_have_been_done_is_asked_once(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    async with (
        terminal(old, None) as before,
        terminal(new, 200) as after,
        moving(old, new) as link,
    ):
        with pytest.raises(ServerAway, match="Process 1 does not answer"):
            await link.ask("POST", "/api/sessions/s/retry")
    assert (before, after) == (["POST"], [])


async def test_what_never_arrived_is_asked_again(tmp_path):
    new = tmp_path / "new"
    async with terminal(new, 200) as after, moving(tmp_path / "old", new) as link:
        await link.ask("POST", "/api/sessions/s/retry")
    assert after == ["GET", "POST"]


async def test_a_terminal_that_is_there_and_refuses_is_asked_once(tmp_path):
    socket = tmp_path / "socket"
    async with terminal(socket, 503) as asked, moving(socket) as link:
        with pytest.raises(ServerAway, match="stops"):
            await link.ask("GET", "/api/sessions")
    assert asked == ["GET"]


async def test_a_home_has_more_time_to_be_opened_than_a_server_to_come_back():
    clock, places = FrozenClock(), [Address("http://localhost", socket="/nowhere", pid=1)]
    link = Link(lambda: places.pop() if places else None, clock)
    with pytest.raises(ServerAway, match="Process 1"):
        await link.once("GET", "/api/status")
    waiting = asyncio.create_task(link.back())
    await clock.advance(399)
    assert not waiting.done()
    await clock.advance(2)
    with pytest.raises(ServerAway, match="within 400 seconds"):
        await waiting
    await link.close()
