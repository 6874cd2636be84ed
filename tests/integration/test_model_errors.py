"""A model that fails is asked again, replaced, or reported."""

import pytest
from tests.integration.stories import SESSION, ended, hear, told

from long_running_agents.domain.events import (
    DeltaEnvelope,
    RequestRetried,
    TurnDone,
    TurnFailed,
    TurnResumed,
)
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.store import messages
from long_running_agents.testing import FrozenClock, ScriptedModel, call, cut, fail, make_app, say

pytestmark = pytest.mark.anyio


async def test_passing_ones_are_retried_with_back_off(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([fail(503), fail(429, retry_after=7), say("Here.")])
    async with make_app(tmp_path, model=model, clock=clock) as app:
        turn = await app.turns.start(SESSION, "hi")
        waits = []
        listening = app.turns.listen(SESSION)
        async for news in listening:
            if isinstance(news, DeltaEnvelope) and isinstance(news.delta, RequestRetried):
                waits.append(news.delta.wait_seconds)
                await clock.advance(news.delta.wait_seconds)
            if not isinstance(news, DeltaEnvelope) and isinstance(news.event, TurnDone):
                break
        await listening.aclose()
        assert waits == [0.5, 7]
        assert (await app.turns.settled(turn.id)).answer == "Here."


async def test_a_cut_stream_is_asked_again_and_its_words_are_void(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([cut(2, text="half an answer"), say("A whole answer.")])
    async with make_app(tmp_path, model=model, clock=clock) as app:
        turn = await app.turns.start(SESSION, "hi")
        await hear(app, RequestRetried)
        await clock.advance(1)
        assert (await app.turns.settled(turn.id)).answer == "A whole answer."
        log = await app.database.read(lambda tx: messages.of_turn(tx, turn.id))
        assert "half" not in log[-1].body


async def test_then_the_turn_fails_loses_nothing_and_can_be_retried(tmp_path):
    model = ScriptedModel([call("create_task", title="Keep me"), fail(401), say("Recovered.")])
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "hi")
        assert turn.status is TurnStatus.FAILED
        assert "401" in turn.error
        [failure] = await told(app, TurnFailed)
        assert failure.code == "model_unavailable"
        await app.turns.retry(SESSION)
        turn = await app.turns.settled(turn.id)
        assert turn.answer == "Recovered."
        assert len(await app.sessions.tasks(SESSION)) == 1


async def test_whoever_listens_hears_once_that_somebody_let_a_turn_go_on(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([fail(401), say("Recovered.")])) as app:
        turn = await ended(app, "hi")
        await app.turns.retry(SESSION)
        await app.turns.settled(turn.id)
        told = [recorded.event for recorded in await app.sessions.events(SESSION)]
        assert [event.type for event in told][1:3] == ["error", "resumed"]
        assert [event for event in told if isinstance(event, TurnResumed)] == [
            TurnResumed(attempt=1, asked=True)
        ]


async def test_a_new_message_after_a_failure_sees_the_lost_question(tmp_path):
    model = ScriptedModel([fail(400), say("Both seen.")])
    async with make_app(tmp_path, model=model) as app:
        await ended(app, "first question")
        await ended(app, "second question")
        shown = " ".join(str(part.content) for m in model.requests[-1] for part in m.parts)
        assert "first question" in shown
        assert "second question" in shown


async def test_no_model_at_all_is_a_failed_turn_that_says_what_to_do(tmp_path):
    async with make_app(tmp_path) as app:
        turn = await ended(app, "hi")
        assert turn.status is TurnStatus.FAILED
        assert "AGENT_MODEL" in turn.error
