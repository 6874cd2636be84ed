"""Budgets of a day and of a session: reserved before a request, never passed, raised at will."""

import asyncio
from decimal import Decimal

import pytest
from sqlalchemy import select
from tests.embedder import EmbeddingServer
from tests.integration.stories import SESSION, ended, hands, hear, told

from long_running_agents.agent.budgets import RequestAccount
from long_running_agents.agent.model_request import SideRequest
from long_running_agents.domain.budget import (
    BudgetNode,
    BudgetScope,
    Limits,
    RequestSize,
    Spent,
    Usage,
)
from long_running_agents.domain.events import BudgetTight, StepBegan, TurnLimited, WordsArrived
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Query, Viewer
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import LimitReached, NotFound, UsageError
from long_running_agents.store import budgets, tables, usage
from long_running_agents.testing import (
    Rule,
    Script,
    ScriptedModel,
    ScriptedServer,
    call,
    cut,
    hang,
    make_app,
    say,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

DEAR = {
    "environ": {"OPENAI_API_KEY": "sk-test"},
    "agent__model__provider": "openai",
    "agent__model__model_id": "gpt-4o",
}
"""A model whose price is known."""


def at(server):
    return {"AGENT_MODEL": "scripted", "AGENT_MODEL_URL": server.url}


async def used(app, session_id=None):
    total = await app.database.read(lambda tx: usage.total(tx, session_id=session_id))
    return total.input_tokens + total.output_tokens


async def test_twenty_at_once_never_pass_the_limit_of_a_day(tmp_path):
    cap = 60_000
    script = Script([Rule("", (say("word " * 300),))])
    names = [SessionId(f"s{number}") for number in range(20)]
    async with (
        ScriptedServer(script) as server,
        make_app(tmp_path, environ=at(server), budget__day__tokens=cap) as app,
    ):
        for _ in range(2):
            found = await asyncio.gather(*(ended(app, "Talk", name) for name in names))
            [line] = await app.budgets.lines()
            assert (line.held, line.spent) == (0, await used(app))
            assert line.spent <= cap
            assert {turn.status for turn in found} <= {TurnStatus.DONE, TurnStatus.LIMITED}
        stopped = [turn for turn in found if turn.status is TurnStatus.LIMITED]
        assert stopped
        assert "are used today" in stopped[0].error
        going_on = await app.budgets.more(tokens=200_000)
        assert {turn.id for turn in going_on} >= {turn.id for turn in stopped}
        rest = [await app.turns.settled(turn.id) for turn in going_on]
        assert {turn.status for turn in rest} == {TurnStatus.DONE}


async def test_a_raised_limit_lets_the_same_step_go_on(tmp_path):
    ran = []

    async def pay() -> str:
        ran.append("paid")
        return "paid"

    model = ScriptedModel([call("pay"), say("All paid.")])
    async with make_app(
        tmp_path, model=model, toolsets=[hands(pay)], budget__session__steps=1
    ) as app:
        turn = await ended(app, "pay")
        [closing] = await told(app, TurnLimited)
        assert (turn.status, closing.limit) == (TurnStatus.LIMITED, "session_steps")
        assert "lra budget raise --session talk" in turn.answer
        # Another attempt without a higher limit ends at the same place.
        await app.turns.retry(SESSION)
        turn = await app.turns.settled(turn.id)
        assert (turn.status, turn.renewals) == (TurnStatus.LIMITED, 0)
        [going_on] = await app.budgets.more(SESSION)
        turn = await app.turns.settled(going_on.id)
        assert (turn.status, turn.answer, turn.spent.steps) == (TurnStatus.DONE, "All paid.", 2)
        assert ran == ["paid"]
        [line] = await app.budgets.lines(SESSION)
        assert (line.limit, line.spent, line.key) == (2, 2, SESSION)


async def spend(app, tokens):
    """Let something else have used tokens today."""
    now = app.book.clock.now()
    past = Usage(input_tokens=tokens)
    other, turn_id = SessionId("other"), TurnId(f"past-{tokens}")
    await app.database.write(lambda tx: usage.record(tx, other, turn_id, 1, "m", past, now))


async def test_person_and_model_are_told_before_it_is_too_late(tmp_path):
    script = Script([Rule("", (call("list_tasks"), say("Done.")))])
    async with (
        ScriptedServer(script) as server,
        make_app(tmp_path, environ=at(server), budget__day__tokens=200_000) as app,
    ):

        async def asked(text):
            before = len(server.requests)
            assert (await ended(app, text)).status is TurnStatus.DONE
            return [str(each["messages"][0]) for each in server.requests[before:]]

        assert not any("# Budget" in each for each in await asked("one"))
        await spend(app, 160_000)
        warned = await asked("two")
        assert all("Most of the tokens for this day is used" in each for each in warned)
        assert not any("Finish now" in each for each in warned)
        await spend(app, 200_000 - await used(app) - 9_900)
        assert all("Finish now" in each for each in (await asked("three"))[:1])
        seen = [(event.scope, event.wrap_up) for event in await told(app, BudgetTight)]
        assert seen[:2] == [("day", False), ("day", True)]
        assert await used(app) <= 200_000


@pytest.mark.parametrize("limits", [{"budget__day__cost": "0"}, {"budget__session__tokens": 0}])
async def test_a_limit_of_nothing_asks_no_model(tmp_path, limits):
    model = ScriptedModel([say("never asked")])
    async with make_app(tmp_path, model=model, **limits) as app:
        assert (await ended(app, "hi")).status is TurnStatus.LIMITED
        assert model.requests == []


async def test_a_model_of_unknown_price_is_asked_only_where_that_is_allowed(tmp_path):
    for allowed in (False, True):
        model = ScriptedModel([say("hello")])
        async with make_app(
            tmp_path / str(allowed),
            model=model,
            budget__day__cost="1",
            budget__allow_unpriced=allowed,
        ) as app:
            turn = await ended(app, "hi")
            assert turn.status is (TurnStatus.DONE if allowed else TurnStatus.LIMITED)
            assert allowed or "allow_unpriced" in turn.error


async def test_money_is_held_for_the_longest_answer_and_settled_at_what_it_cost(tmp_path):
    script = Script([Rule("", (say("rich"),))])
    async with (
        ScriptedServer(script) as server,
        make_app(
            tmp_path, **DEAR, agent__model__base_url=server.url, budget__day__cost="0.05"
        ) as app,
    ):
        assert (await ended(app, "Cheap")).status is TurnStatus.DONE
        [line] = await app.budgets.lines()
        assert (line.resource, line.held) == ("cost", 0)
        total = await app.database.read(usage.total)
        assert line.spent == pytest.approx(float(total.cost))
        # What the answer may cost is bounded by what is left.
        assert 64 <= server.requests[-1]["max_tokens"] <= 5_000
        assert (await ended(app, "Dear " * 50_000)).status is TurnStatus.LIMITED
        assert (await app.database.read(usage.total)).cost == total.cost


async def test_a_request_that_was_cut_off_is_counted_for_what_was_heard(tmp_path):
    script = Script([Rule("", (cut(3), say("Whole at last.")))])
    async with (
        ScriptedServer(script) as server,
        make_app(tmp_path, environ=at(server), budget__day__tokens=100_000) as app,
    ):
        turn = await ended(app, "go")
        assert turn.answer == "Whole at last."
        [line] = await app.budgets.lines()
        assert (line.held, line.spent) == (0, await used(app))
        assert turn.spent.total_tokens == line.spent
        rows = await app.database.read(lambda tx: tx.execute(select(tables.usage)).all())
        assert [row.estimated for row in rows] == [True, False]


async def test_a_stopped_request_counts_and_what_it_held_is_given_back(tmp_path):
    async with make_app(
        tmp_path, model=ScriptedModel([hang()]), budget__day__tokens=100_000
    ) as app:
        turn = await app.turns.start(SESSION, "go")
        await hear(app, StepBegan)
        await app.turns.stop(SESSION)
        turn = await app.turns.get(turn.id)
        [line] = await app.budgets.lines()
        assert line.held == 0
        assert line.spent == turn.spent.total_tokens == await used(app)


async def test_what_a_dead_process_held_is_counted_in_full(tmp_path):
    limits = {"budget__day__tokens": 100_000, "budget__session__tokens": 50_000}
    async with make_app(tmp_path, model=ScriptedModel([say("one")]), **limits) as app:
        await ended(app, "hi")
        before = await used(app)
        account = _left_behind(app)
        taken = await account.reserve(lambda most: _size(1_000, most))
        lines = {line.scope: line for line in await app.budgets.lines(SESSION)}
        assert {line.held for line in lines.values()} == {1_000 + taken.output_tokens}
    async with make_app(tmp_path, model=ScriptedModel([say("two")]), **limits) as app:
        for line in await app.budgets.lines(SESSION):
            assert (line.held, line.spent) == (0, before + 1_000 + taken.output_tokens)


def _left_behind(app):
    own = BudgetNode(scope=BudgetScope.TURN, key="", limits=Limits(), spent=Spent())
    return RequestAccount(book=app.book, id="lost", owner="me", session_id=SESSION, own=lambda: own)


def _size(tokens, most):
    return RequestSize(model="m", input_tokens=tokens, output_tokens=most)


async def test_requests_beside_turns_count_and_are_refused_too(tmp_path):
    model = ScriptedModel([say("A title"), say("never asked")])
    async with make_app(tmp_path, model=model, budget__day__tokens=2_000) as app:
        asked = SideRequest(instructions="Name it.", words="word " * 900, session_id=SESSION)
        done = await app.side_requests.run("me", asked)
        assert await used(app, SESSION) == done.usage.total_tokens > 0
        with pytest.raises(LimitReached, match="today"):
            await app.side_requests.run("me", asked)
        assert len(model.requests) == 1
        assert (await app.budgets.lines())[0].held == 0


async def test_vectors_of_a_server_count_and_memory_goes_on_by_words_without_them(tmp_path):
    script = Script([Rule("", (say("Noted."),))])
    async with (
        EmbeddingServer(script) as server,
        make_app(
            tmp_path,
            environ=at(server),
            memory__embedding_base_url=server.url,
            memory__embedding_model="vectors",
            budget__day__tokens=60_000,
        ) as app,
    ):
        await ended(app, "The heron nests behind the mill.")
        await app.remembered()
        rows = await app.database.read(lambda tx: tx.execute(select(tables.usage)).all())
        vectors = [row for row in rows if row.model.startswith("server:vectors")]
        assert sum(row.input_tokens for row in vectors) > 0
        assert all(row.estimated and row.cost is None for row in vectors)
        await spend(app, 60_000)
        asked = len(server.embedding_requests)
        query = Query(text="Where does the heron nest?")
        found = await app.memories.find(Viewer(owner="me", agent="lra"), query)
        assert len(server.embedding_requests) == asked
        assert "today" in found.degraded
        assert found.hits


async def test_who_leaves_in_the_middle_of_a_request_beside_turns_leaves_nothing_held(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([hang()]), budget__day__tokens=50_000) as app:
        asked = SideRequest(instructions="Name it.", words="word")
        work = asyncio.create_task(app.side_requests.run("me", asked))
        while not (await app.budgets.lines())[0].held:
            pass
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        [line] = await app.budgets.lines()
        assert (line.held, line.spent) == (0, await used(app))
        assert line.spent > 0


async def test_only_what_is_limited_can_be_raised_and_only_by_its_owner(tmp_path):
    model = ScriptedModel([say("hi")] * 3)
    async with make_app(tmp_path, model=model, budget__session__tokens=50_000) as app:
        await ended(app, "hi")
        with pytest.raises(UsageError, match="raises no limit of a day"):
            await app.budgets.more(tokens=10)
        with pytest.raises(UsageError, match="raises no limit of a session"):
            await app.budgets.more(SESSION, cost=Decimal(1))
        with pytest.raises(NotFound):
            await app.budgets.more(SessionId("nobodys"), tokens=10)
        assert await app.budgets.more(SESSION, tokens=10) == []
        assert [line.limit for line in await app.budgets.lines(SESSION)] == [50_010]
        assert await app.budgets.lines() == []


async def test_without_limits_nothing_is_written_for_them(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("one")])) as app:
        turn = await app.turns.start(SESSION, "hi")
        await hear(app, WordsArrived)
        held = await app.database.read(lambda tx: budgets.settle_all(tx, turn.created_at))
        assert held == 0
        await app.turns.settled(turn.id)
