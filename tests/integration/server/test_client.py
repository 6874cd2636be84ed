"""The client against a real socket: talk, stop, hear each event once, whoever was away."""

import asyncio
from contextlib import AsyncExitStack, aclosing

import pytest
from tests.integration.server.serving import listening_app, served
from tests.integration.stories import SESSION

from long_running_agents.client import Address, Client
from long_running_agents.clock import SystemClock
from long_running_agents.domain.events import (
    DeltaEnvelope,
    EventEnvelope,
    MessageAccepted,
    TurnDone,
    WordsArrived,
)
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import Busy, NotFound, ServerAway
from long_running_agents.server.asgi import create_app
from long_running_agents.testing import ScriptedModel, fail, hang, make_app, say

pytestmark = pytest.mark.anyio


def at(http):
    return Client.at(str(http.base_url))


async def until(listening, kind):
    """Everything that is heard up to an event of a kind."""
    heard = []
    async with aclosing(listening):
        async for news in listening:
            heard.append(news)
            if isinstance(getattr(news, "event", None), kind):
                return heard
    raise AssertionError("the bell went silent")


async def test_a_message_is_one_turn_and_what_is_heard_is_what_the_home_hears(tmp_path):
    async with served(tmp_path, say("Hello there.")) as (app, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Hi", attended=True)
        heard = await until(client.turns.listen(SESSION), TurnDone)
        settled = await client.turns.settled(turn.id)
        stored = list(await app.sessions.events(SESSION))
    assert (settled.status, settled.answer, settled.prompt) == (
        TurnStatus.DONE,
        "Hello there.",
        "Hi",
    )
    assert [each for each in heard if isinstance(each, EventEnvelope)] == stored


async def test_words_arrive_while_they_are_said(tmp_path):
    async with served(tmp_path, say("Hi."), say("One two three.")) as (_, http), at(http) as client:
        await client.turns.start(SESSION, "Hi")
        listening = client.turns.listen(SESSION)
        heard = []
        await _hear(listening, heard, dones=1)
        # The window is open by now: no word passes unheard.
        await client.turns.start(SESSION, "Count")
        await _hear(listening, heard, dones=2)
        await listening.aclose()
    words = [each.delta.text for each in heard if _says_words(each) and each.delta.text != "Hi."]
    assert "".join(words) == "One two three."


def _says_words(heard):
    return isinstance(heard, DeltaEnvelope) and isinstance(heard.delta, WordsArrived)


async def test_a_turn_is_stopped(tmp_path):
    async with served(tmp_path, hang()) as (_, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Think")
        assert [each.id for each in await client.turns.unfinished()] == [turn.id]
        stopped = await client.turns.stop(SESSION)
        assert (stopped.id, stopped.status) == (turn.id, TurnStatus.STOPPED)
        assert await client.turns.stop(SESSION) is None
        assert await client.turns.unfinished() == []


async def test_a_failed_turn_is_retried(tmp_path):
    async with served(tmp_path, fail(401), say("At last.")) as (_, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Think")
        assert (await client.turns.settled(turn.id)).status is TurnStatus.FAILED
        again = await client.turns.retry(SESSION)
        assert (again.id, again.prompt) == (turn.id, "Think")
        assert (await client.turns.settled(again.id)).answer == "At last."
        with pytest.raises(Busy, match="nothing to retry"):
            await client.turns.retry(SESSION)


async def test_a_failure_is_told_with_its_turn(tmp_path):
    async with served(tmp_path, fail(401, times=None)) as (_, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Hi")
        settled = await client.turns.settled(turn.id)
    assert settled.status is TurnStatus.FAILED
    assert settled.error


async def test_what_is_not_there_is_not_found(tmp_path):
    async with served(tmp_path) as (_, http), at(http) as client:
        with pytest.raises(NotFound, match="turn_x"):
            await client.turns.get("turn_x")
        assert await client.sessions.last_event(SESSION) == 0


async def test_the_events_of_a_turn_can_be_found_from_the_end(tmp_path):
    replies = [say(f"Answer {number}.") for number in range(3)]
    async with served(tmp_path, *replies) as (app, http), at(http) as client:
        turns = [await client.turns.start(SESSION, f"Question {number}") for number in range(3)]
        for turn in turns:
            await client.turns.settled(turn.id)
        newest = await client.sessions.last_event(SESSION)
        found = [await client.sessions.before(SESSION, turn.id, newest) for turn in turns]
        told = await app.sessions.events(SESSION)
        firsts = [next(each.seq for each in told if each.turn_id == turn.id) for turn in turns]
        assert found == [first - 1 for first in firsts]


class Moving:
    """A server that can go away and come back somewhere else."""

    def __init__(self, app):
        self._app = app
        self._stack = AsyncExitStack()
        self.address = None

    async def come(self):
        asgi = create_app(self._app, SystemClock())
        self.address = Address(await self._stack.enter_async_context(listening_app(asgi)))

    async def go(self):
        self.address = None
        await self._stack.aclose()


async def test_whoever_was_away_hears_each_event_once(tmp_path):
    model = ScriptedModel([say("One."), say("Two."), say("Three.")])
    async with make_app(tmp_path, model=model) as app:
        server = Moving(app)
        await server.come()
        told = []
        async with Client.found(lambda: server.address, SystemClock()) as client:
            client.link.tell = told.append
            listening = client.turns.listen(SESSION)
            await client.turns.start(SESSION, "First")
            heard = []
            await _hear(listening, heard, dones=1)
            await server.go()
            missed = await app.turns.start(SESSION, "Second")
            await app.turns.settled(missed.id)
            hearing = asyncio.create_task(_hear(listening, heard, dones=3))
            third = asyncio.create_task(client.turns.start(SESSION, "Third"))
            await server.come()
            await asyncio.gather(hearing, third)
            await listening.aclose()
        await server.go()
        stored = list(await app.sessions.events(SESSION))
    assert [each for each in heard if isinstance(each, EventEnvelope)] == stored
    prompts = [each.event.content for each in stored if isinstance(each.event, MessageAccepted)]
    assert prompts == ["First", "Second", "Third"]
    assert "went away" in told[0]
    assert "is back" in told[-1]


async def _hear(listening, heard, dones):
    while sum(isinstance(getattr(each, "event", None), TurnDone) for each in heard) < dones:
        heard.append(await anext(listening))


async def test_a_server_that_stays_away_is_given_up(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([hang()])) as app:
        server = Moving(app)
        await server.come()
        async with Client.found(lambda: server.address, SystemClock(), patience=0) as client:
            turn = await client.turns.start(SESSION, "Think")
            await server.go()
            with pytest.raises(ServerAway, match="did not come back"):
                await client.turns.settled(turn.id)
            with pytest.raises(ServerAway, match="did not come back"):
                await until(client.turns.listen(SESSION), TurnDone)
        await app.turns.stop(SESSION)
