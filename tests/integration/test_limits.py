"""Budgets end a turn cleanly, before more is spent."""

from decimal import Decimal

import pytest
from tests.integration.stories import SESSION, ended, hands, hear, told

from long_running_agents.domain.events import StepBegan, TurnLimited
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.store import usage
from long_running_agents.testing import (
    FrozenClock,
    Rule,
    Script,
    ScriptedModel,
    ScriptedServer,
    call,
    calls,
    hang,
    make_app,
    say,
)

pytestmark = pytest.mark.anyio


async def test_steps(tmp_path):
    model = ScriptedModel([call("list_tasks")] * 5)
    async with make_app(tmp_path, model=model, agent__max_loop_iterations=3) as app:
        turn = await ended(app, "go on and on")
        assert turn.status is TurnStatus.LIMITED
        assert turn.spent.steps == 3
        assert "all 3 steps" in turn.answer
        [closing] = await told(app, TurnLimited)
        assert closing.limit == "steps"


async def test_what_is_left_is_in_the_summary_and_a_retry_goes_on(tmp_path):
    model = ScriptedModel(
        [
            call("create_task", title="Paint the door"),
            call("list_tasks"),
            say("Painted."),
        ]
    )
    async with make_app(tmp_path, model=model, agent__max_loop_iterations=2) as app:
        turn = await ended(app, "paint")
        assert "Paint the door" in turn.answer
        await app.turns.retry(SESSION)
        turn = await app.turns.settled(turn.id)
        assert turn.status is TurnStatus.DONE
        assert turn.answer == "Painted."


async def test_tokens_are_reserved_before_the_request(tmp_path):
    model = ScriptedModel([say("never asked")])
    async with make_app(tmp_path, model=model, agent__limits__tokens=50) as app:
        turn = await ended(app, "word " * 200)
        assert turn.status is TurnStatus.LIMITED
        assert model.requests == []


async def test_tool_calls(tmp_path):
    model = ScriptedModel([call("list_tasks"), call("list_tasks"), say("x")])
    async with make_app(tmp_path, model=model, agent__limits__tool_calls=2) as app:
        assert (await ended(app, "go")).error == "all 2 tool calls of this turn are used"


async def test_money(tmp_path, model_requests):
    script = Script([Rule("", (call("list_tasks"), say("rich")))])
    async with (
        ScriptedServer(script) as server,
        make_app(
            tmp_path,
            environ={"OPENAI_API_KEY": "sk-test"},
            agent__model__provider="openai",
            agent__model__model_id="gpt-4o",
            agent__model__base_url=server.url,
            agent__limits__cost="0.1",
        ) as app,
    ):
        first = await ended(app, "Cheap")
        total = await app.database.read(usage.total)
        assert first.status is TurnStatus.DONE
        assert 0 < total.cost < Decimal("0.1")
        assert first.spent.cost == total.cost
        dear = await ended(app, "Dear " * 50000)
        assert dear.status is TurnStatus.LIMITED
        assert "costs about" in dear.error
        assert (await app.database.read(usage.total)).cost == total.cost


async def test_wall_time_ends_even_a_model_that_hangs(tmp_path):
    clock = FrozenClock()
    async with make_app(
        tmp_path, model=ScriptedModel([hang()]), clock=clock, agent__limits__seconds=60
    ) as app:
        turn = await app.turns.start(SESSION, "go")
        await hear(app, StepBegan, after=1)
        await clock.advance(61)
        turn = await app.turns.settled(turn.id)
        assert turn.status is TurnStatus.LIMITED
        assert "60 seconds" in turn.answer


async def test_calls_beyond_the_limit_are_refused_within_one_step(tmp_path):
    ran = []

    async def poke(number: int) -> str:
        ran.append(number)
        return "poked"

    model = ScriptedModel([calls(*(call("poke", number=n) for n in range(5))), say("x")])
    async with make_app(
        tmp_path, model=model, toolsets=[hands(poke)], agent__limits__tool_calls=2
    ) as app:
        assert (await ended(app, "go")).status is TurnStatus.LIMITED
        assert sorted(ran) == [0, 1]
