"""Opening a home again: what was begun goes on, what was done stays done."""

import asyncio

import pytest
from sqlalchemy import text
from tests.integration.stories import SESSION, ended, hands, hear, told

from long_running_agents.domain.events import StepBegan, TurnDone, TurnResumed
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.testing import ScriptedModel, call, hang, make_app, say

pytestmark = pytest.mark.anyio


async def test_a_turn_that_was_running_goes_on_by_itself(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([hang()])) as app:
        turn = await app.turns.start(SESSION, "Are you there?")
        await hear(app, StepBegan)
    async with make_app(tmp_path, model=ScriptedModel([say("Yes.")])) as app:
        assert (await app.turns.settled(turn.id)).answer == "Yes."


async def test_messages_in_line_keep_their_place(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([hang()])) as app:
        turns = [await app.turns.start(SESSION, text) for text in ("one", "two", "three")]
    async with make_app(tmp_path, model=ScriptedModel([say("1"), say("2"), say("3")])) as app:
        assert [(await app.turns.settled(turn.id)).answer for turn in turns] == ["1", "2", "3"]


async def test_closing_a_home_is_not_a_death(tmp_path):
    for _ in range(12):
        async with make_app(tmp_path, model=ScriptedModel([hang()])) as app:
            # Open before anything can happen: the turn goes on without waiting for us.
            listening = app.turns.listen(SESSION)
            if not await app.sessions.previews():
                await app.turns.start(SESSION, "Patience")
            await hear(app, StepBegan, listening=listening)
    async with make_app(tmp_path, model=ScriptedModel([say("At last.")])) as app:
        [turn] = await app.sessions.turns(SESSION)
        turn = await app.turns.settled(turn.id)
        assert turn.status is TurnStatus.DONE
        assert await told(app, TurnResumed) == []


async def test_finished_calls_are_not_repeated(tmp_path):
    ran = []

    async def count() -> str:
        ran.append(1)
        return "counted"

    model = ScriptedModel([call("count"), hang()])
    async with make_app(tmp_path, model=model, toolsets=[hands(count)]) as app:
        turn = await app.turns.start(SESSION, "Count once")
        while len(model.requests) < 2:  # noqa: ASYNC110 - the model has no bell
            await asyncio.sleep(0.001)
    model = ScriptedModel([say("One.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(count)]) as app:
        assert (await app.turns.settled(turn.id)).answer == "One."
    assert ran == [1]
    assert "counted" in str(model.requests[0][-1].parts[0].content)


async def test_a_conversation_remembers_after_a_restart(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("Hello Ann.")])) as app:
        await ended(app, "I am Ann")
    model = ScriptedModel([say("You are Ann.")])
    async with make_app(tmp_path, model=model) as app:
        await ended(app, "Who am I?")
    assert [message.kind for message in model.requests[0]] == ["request", "response", "request"]


async def test_a_turn_that_keeps_dying_is_given_up(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([hang()])) as app:
        turn = await app.turns.start(SESSION, "Poison")
        await hear(app, StepBegan)
        await app.database.write(lambda tx: tx.execute(text("UPDATE turns SET attempts = 20")))
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        turn = await app.turns.settled(turn.id)
        assert turn.status is TurnStatus.FAILED
        assert "cut off" in turn.error


async def test_dying_between_the_last_step_and_the_end_asks_nobody_again(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("The answer.")])) as app:
        turn = await ended(app, "Well?")
        await app.database.write(
            lambda tx: tx.execute(text("UPDATE turns SET status = 'running', answer = ''"))
        )
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        assert (await app.turns.settled(turn.id)).answer == "The answer."
        assert len(await told(app, TurnDone)) == 2
