import asyncio
import json
import socket
import struct
from contextlib import asynccontextmanager

import pytest

from long_running_agents.sandbox.base import FailureName
from long_running_agents.sandbox.kernel import Kernel, KernelLost
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


class Inside:
    """The far end, which may say anything."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.destroyed = False

    def destroy(self):
        self.destroyed = True

    async def heard(self):
        size = struct.unpack("!I", await self.reader.readexactly(4))[0]
        return json.loads(await self.reader.readexactly(size))

    def say(self, message):
        self.say_raw(json.dumps(message).encode())

    def say_raw(self, body, size=None):
        self.writer.write(struct.pack("!I", len(body) if size is None else size) + body)

    async def answer(self, **more):
        request = await self.heard()
        self.say({"id": request["id"], **more})


@pytest.fixture
def clock():
    return FrozenClock()


@asynccontextmanager
async def connected(clock):
    ours, theirs = socket.socketpair()
    inside = Inside(*await asyncio.open_unix_connection(sock=theirs))
    kernel = Kernel(*await asyncio.open_unix_connection(sock=ours), clock, inside.destroy)
    try:
        yield kernel, inside
    finally:
        kernel.close()
        inside.writer.close()
        await inside.writer.wait_closed()


def asked(kernel, look=None):
    return asyncio.ensure_future(kernel.ask({"do": "execute"}, 1, look))


async def test_an_answer_belongs_to_its_question(clock):
    async with connected(clock) as (kernel, inside):
        call = asked(kernel)
        await inside.answer(stdout="hello")

        assert (await call)["stdout"] == "hello"
        assert not kernel.lost


@pytest.mark.parametrize(
    "body",
    [b"[1, 2]", b'"text"', b"no json", b"\xff\xfe", b"[" * 100_000],
    ids=["a list", "a text", "no JSON", "no text", "a nest"],
)
async def test_what_is_no_answer_ends_the_sandbox(clock, body):
    async with connected(clock) as (kernel, inside):
        call = asked(kernel)
        inside.say_raw(body)
        with pytest.raises(KernelLost) as lost:
            await call

        assert lost.value.failure == FailureName.PROTOCOL
        assert kernel.lost
        assert inside.destroyed


async def test_an_answer_that_is_too_large_is_not_waited_for(clock):
    async with connected(clock) as (kernel, inside):
        call = asked(kernel)
        inside.say_raw(b"", size=1 << 31)
        with pytest.raises(KernelLost):
            await call

        assert inside.destroyed


async def test_an_answer_with_another_mark_ends_the_sandbox(clock):
    async with connected(clock) as (kernel, inside):
        call = asked(kernel)
        await inside.heard()
        inside.say({"id": "forged", "stdout": "all is well"})
        with pytest.raises(KernelLost) as lost:
            await call

        assert lost.value.failure == FailureName.PROTOCOL


async def test_who_speaks_unasked_is_not_listened_to(clock):
    async with connected(clock) as (kernel, inside):
        inside.say({"id": "early", "stdout": "all is well"})
        with pytest.raises(KernelLost):
            await asked(kernel)

        assert inside.destroyed


async def test_a_kernel_that_ends_is_known_to_be_lost(clock):
    async with connected(clock) as (kernel, inside):
        call = asked(kernel)
        await inside.heard()
        inside.writer.close()
        with pytest.raises(KernelLost) as lost:
            await call

        assert lost.value.failure == FailureName.DIED
        assert kernel.lost


async def test_a_kernel_that_does_not_answer_is_given_up_and_looked_at_until_then(clock):
    looks = []

    async def look():
        looks.append(clock.monotonic())

    async with connected(clock) as (kernel, inside):
        call = asked(kernel, look)
        await inside.heard()
        await clock.advance(2.5)
        assert not call.done()
        await clock.advance(1)
        with pytest.raises(KernelLost):
            await call

    assert inside.destroyed
    assert len(looks) > 5


async def test_a_look_that_takes_long_holds_up_nothing(clock):
    async def look():
        await asyncio.Event().wait()

    async with connected(clock) as (kernel, inside):
        call = asked(kernel, look)
        request = await inside.heard()
        await clock.advance(1)
        inside.say({"id": request["id"]})

        assert (await call)["id"] == request["id"]


async def test_a_cancelled_call_is_stopped_and_its_answer_is_not_taken_for_the_next(clock):
    async with connected(clock) as (kernel, inside):
        call = asked(kernel)
        first = await inside.heard()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        following = asked(kernel)
        assert (await inside.heard())["do"] == "stop"
        inside.say({"id": first["id"], "stdout": "late"})
        await inside.answer(stdout="new")

        assert (await following)["stdout"] == "new"


async def test_a_cancelled_call_that_does_not_stop_ends_the_sandbox(clock):
    async with connected(clock) as (kernel, inside):
        call = asked(kernel)
        await inside.heard()
        call.cancel()
        following = asked(kernel)
        assert (await inside.heard())["do"] == "stop"
        await clock.advance(5)
        with pytest.raises(KernelLost):
            await following

        assert inside.destroyed
