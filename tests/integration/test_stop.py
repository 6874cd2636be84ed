"""Stop really stops, and nothing is broken by it."""

import asyncio
import threading

import pytest
from tests.integration.stories import SESSION, ended, hands, hear, told

from long_running_agents.domain.events import StepBegan, TurnStopped, WordsArrived
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.testing import FrozenClock, ScriptedModel, call, hang, make_app, say

pytestmark = pytest.mark.anyio


async def test_in_mid_stream_keeps_the_words_and_the_next_message_works(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([say("one two three four", chunk_delay=5), say("Fine.")], clock=clock)
    async with make_app(tmp_path, model=model, clock=clock) as app:
        await app.turns.start(SESSION, "Count slowly")
        await hear(app, WordsArrived)
        stopped = await app.turns.stop(SESSION)
        assert stopped.status is TurnStatus.STOPPED
        assert stopped.answer.startswith("one")
        assert len(await told(app, TurnStopped)) == 1
        following = await ended(app, "Never mind")
        assert following.answer == "Fine."
        # The history is whole: question, cut answer, question.
        shown = model.requests[-1]
        assert [message.kind for message in shown] == ["request", "response", "request"]


async def test_in_mid_tool_leaves_a_once_call_uncertain(tmp_path):
    begun = asyncio.Event()

    async def send() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "sent"

    model = ScriptedModel([call("send"), say("Moving on.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(send)]) as app:
        turn = await app.turns.start(SESSION, "Send it")
        await begun.wait()
        await app.turns.stop(SESSION)
        [cut_off] = await app.sessions.uncertain(SESSION)
        assert cut_off.tool == "send"
        assert cut_off.turn_id == turn.id
        assert (await ended(app, "And?")).answer == "Moving on."
        told = str(model.requests[-1][2].parts[0].content)
        assert told.startswith("UNCERTAIN")


async def test_does_not_wait_for_a_tool_that_sits_in_a_thread(tmp_path):
    begun, release = threading.Event(), threading.Event()

    def stubborn() -> str:
        begun.set()
        release.wait(30)
        return "late"

    model = ScriptedModel([call("stubborn"), say("Next.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(stubborn)]) as app:
        await app.turns.start(SESSION, "go")
        await asyncio.to_thread(begun.wait, 30)
        before = asyncio.get_running_loop().time()
        await app.turns.stop(SESSION)
        assert asyncio.get_running_loop().time() - before < 1.0
        assert (await ended(app, "next")).answer == "Next."
        release.set()


async def test_while_the_model_never_answers(tmp_path):
    model = ScriptedModel([hang(), say("Back.")])
    async with make_app(tmp_path, model=model) as app:
        turn = await app.turns.start(SESSION, "Anyone?")
        await hear(app, StepBegan, after=1)
        await app.turns.stop(SESSION)
        assert (await app.turns.settled(turn.id)).status is TurnStatus.STOPPED
        assert (await ended(app, "Hello?")).answer == "Back."


async def test_of_nothing_is_nothing(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        session = await app.sessions.create()
        assert await app.turns.stop(session.id) is None


async def test_ends_one_turn_and_the_next_in_line_goes_on(tmp_path):
    model = ScriptedModel([hang(), say("ok")])
    async with make_app(tmp_path, model=model) as app:
        first = await app.turns.start(SESSION, "one")
        await hear(app, StepBegan)
        second = await app.turns.start(SESSION, "two")
        await app.turns.stop(SESSION)
        assert (await app.turns.settled(first.id)).status is TurnStatus.STOPPED
        assert (await app.turns.settled(second.id)).answer == "ok"
        assert len(await told(app, TurnStopped)) == 1
