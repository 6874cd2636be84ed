"""Questions that wait for a person, and their answers."""

import pytest
from tests.integration.stories import SESSION, ended, hands

from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import Busy
from long_running_agents.store import ledger
from long_running_agents.testing import ScriptedModel, call, calls, make_app, say

pytestmark = pytest.mark.anyio

ASKING = {"agent__tools__require_approval": ["create_task"]}


async def test_an_unanswered_question_survives_a_restart(tmp_path):
    model = ScriptedModel([call("create_task", title="Milk"), say("On the list.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "Add milk")
        assert turn.status is TurnStatus.WAITING
    async with make_app(tmp_path, model=model, **ASKING) as app:
        [question] = await app.turns.open_questions(SESSION)
        assert question.tool == "create_task"
        assert "Milk" in question.args
        await app.turns.answer(question.id, allowed=True)
        turn = await app.turns.settled(turn.id)
        assert turn.answer == "On the list."
        assert [task.title for task in await app.sessions.tasks(SESSION)] == ["Milk"]


async def test_a_denial_and_its_reason_reach_the_model(tmp_path):
    model = ScriptedModel([call("create_task", title="Gin"), say("As you wish.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "Add gin")
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=False, reason="not on a Monday")
        turn = await app.turns.settled(turn.id)
        assert turn.answer == "As you wish."
        assert "not on a Monday" in str(model.requests[1][-1].parts[0].content)
        assert await app.sessions.tasks(SESSION) == []
        rows = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
        assert rows[0].state is CallState.DENIED


async def test_what_needs_no_question_runs_meanwhile_and_runs_once(tmp_path):
    ran = []

    async def look() -> str:
        ran.append(1)
        return "seen"

    model = ScriptedModel([calls(call("look"), call("create_task", title="x")), say("Done.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(look)], **ASKING) as app:
        turn = await ended(app, "go")
        assert turn.status is TurnStatus.WAITING
        assert ran == [1]
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(turn.id)).answer == "Done."
        assert ran == [1]


async def test_nobody_there_means_no(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("I was not allowed to.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "go", attended=False)
        assert turn.status is TurnStatus.DONE
        assert "nobody is there" in str(model.requests[1][-1].parts[0].content)


async def test_a_tool_that_is_not_on_the_list_is_refused(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("No.")])
    async with make_app(tmp_path, model=model, agent__tools__allow=["list_tasks"]) as app:
        assert (await ended(app, "go")).answer == "No."
        assert await app.sessions.tasks(SESSION) == []


async def test_a_question_is_answered_once(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("ok")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "go")
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True)
        with pytest.raises(Busy, match="answered already"):
            await app.turns.answer(question.id, allowed=False)
        await app.turns.settled(turn.id)


async def test_stopping_a_waiting_turn_withdraws_its_question(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("New start.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        await ended(app, "go")
        await app.turns.stop(SESSION)
        assert await app.turns.open_questions() == []
        assert (await ended(app, "again")).answer == "New start."


async def test_a_message_behind_a_waiting_turn_keeps_its_place(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("first"), say("second")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        first = await ended(app, "one")
        second = await app.turns.start(SESSION, "two")
        [question] = await app.turns.open_questions()
        assert (await app.turns.get(second.id)).status is TurnStatus.QUEUED
        await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(first.id)).answer == "first"
        assert (await app.turns.settled(second.id)).answer == "second"
