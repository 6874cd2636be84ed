"""The end of a stream: whether the client went away, or the server."""

import asyncio

import pytest

from long_running_agents.server.openai.stream import EventStream

pytestmark = pytest.mark.anyio

SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}}


class Wire:
    """A connection that notes what was sent, and is held or dropped by the test."""

    def __init__(self):
        self.sent = []
        self.begun = asyncio.Event()
        self.dropped = asyncio.Event()

    async def receive(self):
        await self.dropped.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)
        if message.get("body"):
            self.begun.set()


async def one_word():
    yield "data: hi\n\n"


async def endless():
    yield "data: hi\n\n"
    await asyncio.Event().wait()


async def test_a_stream_that_was_sent_is_over():
    wire, over = Wire(), []
    await EventStream(one_word(), {}, lambda: over.append(1))(SCOPE, wire.receive, wire.send)
    assert over == [1]


async def test_a_client_that_goes_away_is_noticed():
    wire, over = Wire(), []
    stream = EventStream(endless(), {"X-LRA-Session": "s"}, lambda: over.append(1))
    serving = asyncio.create_task(stream(SCOPE, wire.receive, wire.send))
    await wire.begun.wait()
    wire.dropped.set()
    await serving
    assert over == [1]
    assert (b"x-lra-session", b"s") in wire.sent[0]["headers"]


async def test_the_end_of_the_server_is_not_the_end_of_the_turn():
    wire, over = Wire(), []
    stream = EventStream(endless(), {}, lambda: over.append(1))
    serving = asyncio.create_task(stream(SCOPE, wire.receive, wire.send))
    await wire.begun.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert over == []
