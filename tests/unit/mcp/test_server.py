"""When a server is started, waited for, and left alone."""

import asyncio

import pytest

from long_running_agents.errors import Unavailable
from long_running_agents.mcp.base import (
    CallCutOff,
    CallFailed,
    CallNotRun,
    CallSucceeded,
    Listing,
    OfferedTool,
    Program,
    ServerSpec,
)
from long_running_agents.mcp.servers import PATIENCE, McpServer, McpServerState
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

LISTING = Listing(offers=(OfferedTool(name="s_t", tool="t", description="", schema={}),))


class FakeTalk:
    protocol = "1"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.over = False
        self.stale = False
        self.closed = False
        self.listing = LISTING

    async def tools(self):
        self.stale = False
        return self.listing

    async def call(self, tool, args):
        answer = self.answers.pop(0) if self.answers else CallSucceeded("ok")
        if isinstance(answer, CallCutOff):
            self.over = True
        return answer

    async def close(self):
        self.closed = True


class Stage:
    """A server whose talks are handed out one after another; an error stands for a failed start."""

    def __init__(self, *talks, **terms):
        self.talks = list(talks)
        self.clock = FrozenClock()
        self.begun = 0
        self.may_begin = asyncio.Event()
        self.may_begin.set()
        spec = ServerSpec(name="s", way=Program(command="x"), **terms)
        self.server = McpServer(spec, self.begin, self.clock)

    async def begin(self, spec):
        self.begun += 1
        await self.may_begin.wait()
        talk = self.talks.pop(0)
        if isinstance(talk, Exception):
            raise talk
        return talk


async def test_its_tools_are_asked_for_once():
    stage = Stage(FakeTalk())
    assert stage.server.status.state is McpServerState.IDLE

    assert await stage.server.tools() is LISTING
    assert await stage.server.tools() is LISTING
    assert stage.begun == 1
    assert stage.server.status.state is McpServerState.READY


async def test_tools_that_changed_are_asked_for_again_without_a_new_start():
    talk = FakeTalk()
    stage = Stage(talk)
    await stage.server.tools()
    talk.stale, talk.listing = True, Listing()

    assert await stage.server.tools() == Listing()
    assert stage.begun == 1


async def test_a_slow_server_is_waited_for_once_and_then_found_ready():
    stage = Stage(FakeTalk())
    stage.may_begin.clear()
    waiting = asyncio.create_task(stage.server.tools())
    await stage.clock.advance(PATIENCE)

    assert await waiting == Listing()
    assert await stage.server.tools() == Listing()
    assert stage.server.status.state is McpServerState.STARTING
    stage.may_begin.set()
    await stage.clock.advance(0)
    assert await stage.server.tools() is LISTING
    assert stage.begun == 1


async def test_failed_starts_are_further_and_further_apart():
    stage = Stage(*[Unavailable("no")] * 20)
    moments = []
    for _ in range(700):
        before = stage.begun
        await stage.server.tools()
        if stage.begun > before:
            moments.append(stage.clock.monotonic())
        await stage.clock.advance(1)

    assert moments == [0, 2, 6, 14, 30, 62, 126, 254, 510]
    assert stage.server.status.reason == "no"


async def test_a_server_that_answered_is_started_again_at_once():
    stage = Stage(FakeTalk(CallSucceeded("1"), CallCutOff("gone")), FakeTalk(), FakeTalk())
    assert await stage.server.call("t", {}) == CallSucceeded("1")
    assert await stage.server.call("t", {}) == CallCutOff("gone")

    assert await stage.server.call("t", {}) == CallSucceeded("ok")
    assert stage.begun == 2


async def test_a_server_that_dies_of_calls_has_to_wait():
    stage = Stage(*(FakeTalk(CallCutOff("gone")) for _ in range(3)))
    await stage.server.call("t", {})
    with pytest.raises(Unavailable, match="again in 2 seconds"):
        await stage.server.call("t", {})
    await stage.clock.advance(2)
    await stage.server.call("t", {})
    with pytest.raises(Unavailable, match="again in 4 seconds"):
        await stage.server.call("t", {})

    # Its tools stay known meanwhile.
    assert await stage.server.tools() is LISTING


async def test_a_call_that_never_arrived_is_made_once_more():
    gone = FakeTalk(CallSucceeded("1"), CallNotRun("it does not know us"))
    stage = Stage(gone, FakeTalk(CallNotRun("again")))
    await stage.server.call("t", {})

    with pytest.raises(Unavailable):
        await stage.server.call("t", {})
    assert (stage.begun, gone.closed) == (2, True)


async def test_a_failure_is_an_answer():
    stage = Stage(FakeTalk(CallFailed("no"), CallCutOff("gone")), FakeTalk())
    assert await stage.server.call("t", {}) == CallFailed("no")
    await stage.server.call("t", {})

    assert await stage.server.call("t", {}) == CallSucceeded("ok")


@pytest.mark.parametrize("terms", [{"disabled": True}, {"problem": "X is not set"}])
async def test_what_must_not_or_cannot_be_started_is_not(terms):
    stage = Stage(FakeTalk(), **terms)

    assert await stage.server.tools() == Listing()
    with pytest.raises(Unavailable):
        await stage.server.call("t", {})
    assert stage.begun == 0
    assert stage.server.status.reason == terms.get("problem", "")


async def test_closing_ends_what_runs_and_starts_nothing_more():
    talk = FakeTalk()
    stage = Stage(talk, FakeTalk())
    await stage.server.tools()
    await stage.server.close()

    assert talk.closed
    with pytest.raises(Unavailable):
        await stage.server.call("t", {})
    assert stage.begun == 1


async def test_closing_ends_an_attempt():
    stage = Stage(FakeTalk())
    stage.may_begin.clear()
    waiting = asyncio.create_task(stage.server.tools())
    await stage.clock.advance(0)
    await stage.server.close()

    assert await waiting == Listing()


async def test_two_calls_that_find_it_gone_start_it_once():
    gone = FakeTalk(CallSucceeded("1"), CallNotRun("gone"), CallNotRun("gone"))
    stage = Stage(gone, FakeTalk(), FakeTalk())
    await stage.server.call("t", {})

    both = await asyncio.gather(stage.server.call("t", {}), stage.server.call("t", {}))

    assert both == [CallSucceeded("ok"), CallSucceeded("ok")]
    assert stage.begun == 2
