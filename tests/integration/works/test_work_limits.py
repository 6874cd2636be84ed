"""What a limit does to a work: it waits, and its last step goes on when it may."""

import asyncio
from dataclasses import replace

import pytest
from tests.integration.stories import SESSION, hands
from tests.integration.works.plans import (
    CARRIED_OUT,
    PLANNED,
    REVIEWED,
    approved,
    hanging,
    planned,
    turns_of,
)
from tests.integration.works.stories import phases, settled

from long_running_agents.domain.budget import Limits
from long_running_agents.domain.turn import TurnOrigin, TurnStatus
from long_running_agents.domain.work import PauseReason, WorkPhase
from long_running_agents.errors import Busy
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

DONE = [
    (TurnOrigin.USER, TurnStatus.DONE),
    (TurnOrigin.WORK, TurnStatus.DONE),
    (TurnOrigin.WORK, TurnStatus.DONE),
]


class Purse:
    """Counts what is paid."""

    def __init__(self):
        self.paid = 0

    @property
    def tools(self):
        async def pay() -> str:
            self.paid += 1
            return "paid"

        return [hands(pay)]


def spending(tokens=None):
    """A model that pays in the third step, with so many tokens."""
    pay = replace(call("pay"), input_tokens=tokens)
    return ScriptedModel([*PLANNED, pay, *CARRIED_OUT, *REVIEWED])


async def line(app, work, resource):
    found = (await app.works.get(work.id)).budget
    return next(each for each in found if each.resource == resource)


@pytest.mark.parametrize("given", [Limits(), Limits(steps=20, tokens=500_000)])
@pytest.mark.parametrize(
    ("tokens", "limit"),
    [
        (None, {"agent__deep_work__max_iterations": 3}),
        (99_990, {"agent__deep_work__token_budget": 100_000}),
    ],
)
async def test_the_same_step_goes_on_when_a_limit_of_the_work_is_raised(
    tmp_path, tokens, limit, given
):
    purse, model = Purse(), spending(tokens)
    async with make_app(tmp_path, model=model, toolsets=purse.tools, **limit) as app:
        work = await approved(app)
        assert (work.phase, work.pause) == (WorkPhase.EXECUTING, PauseReason.LIMIT)
        assert (await turns_of(app))[-1] == (TurnOrigin.WORK, TurnStatus.LIMITED)
        resource = "steps" if tokens is None else "tokens"
        before = await line(app, work, resource)
        work = await app.works.resume(work.id, limits=given)
        after = await line(app, work, resource)
        # As much again where nothing is given.
        assert after.limit - before.limit == (getattr(given, resource) or before.limit)
        found = await settled(app)
        while found.work.pause is PauseReason.LIMIT:
            await app.works.resume(found.work.id)
            found = await settled(app)
        assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
        assert purse.paid == 1
        assert await turns_of(app) == DONE
        assert len(model.requests) == 7


async def test_a_limit_that_is_not_raised_enough_stops_the_same_step_again(tmp_path):
    purse = Purse()
    async with make_app(
        tmp_path, model=spending(), toolsets=purse.tools, agent__deep_work__max_iterations=3
    ) as app:
        work = await approved(app)
        await app.works.resume(work.id, limits=Limits(tokens=1_000))
        found = await settled(app)
        assert found.work.pause is PauseReason.LIMIT
        await app.works.resume(work.id, limits=Limits(steps=4))
        found = await settled(app)
        assert found.work.phase is WorkPhase.COMPLETE
        assert (purse.paid, await turns_of(app)) == (1, DONE)
        assert (await phases(app))[2:6] == ["executing", "executing/limit"] * 2


@pytest.mark.parametrize("scope", ["session", "day"])
async def test_a_limit_beyond_the_work_is_raised_where_it_is(tmp_path, scope):
    purse, model = Purse(), spending(99_990)
    limit = {f"budget__{scope}__tokens": 100_000}
    key = SESSION if scope == "session" else None
    async with make_app(tmp_path, model=model, toolsets=purse.tools, **limit) as app:
        work = await approved(app)
        assert work.pause is PauseReason.LIMIT
        before = await line(app, work, "tokens")
        # The limit of the work has not stopped it, and is not raised.
        await app.works.resume(work.id)
        found = await settled(app)
        assert found.work.pause is PauseReason.LIMIT
        assert (await line(app, work, "tokens")).limit == before.limit
        [turn] = await app.budgets.more(key, tokens=500_000)
        assert turn.work_id == work.id
        found = await settled(app)
        assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
        assert (purse.paid, await turns_of(app)) == (1, DONE)


async def test_a_plan_that_a_limit_cut_off_is_made_to_its_end(tmp_path):
    limit = {"agent__deep_work__max_iterations": 1}
    async with make_app(
        tmp_path, model=ScriptedModel([*PLANNED, *CARRIED_OUT, *REVIEWED]), **limit
    ) as app:
        work = await planned(app)
        assert (work.phase, work.pause) == (WorkPhase.PLANNING, PauseReason.LIMIT)
        await app.works.resume(work.id, limits=Limits(steps=9))
        found = await settled(app)
        assert (found.work.phase, len(found.tasks)) == (WorkPhase.PLAN_READY, 1)
        assert await turns_of(app) == DONE[:1]


async def test_a_raised_limit_does_not_bring_an_abandoned_work_back(tmp_path):
    purse = Purse()
    async with make_app(
        tmp_path, model=spending(), toolsets=purse.tools, budget__session__steps=3
    ) as app:
        work = await approved(app)
        assert work.pause is PauseReason.LIMIT
        await app.works.abandon(work.id)
        assert await app.budgets.more(SESSION) == []
        with pytest.raises(Busy, match="abandoned"):
            await app.turns.retry(SESSION)
        assert (await turns_of(app))[-1] == (TurnOrigin.WORK, TurnStatus.LIMITED)


async def test_whoever_says_something_to_a_work_at_its_limit_lets_it_go_on(tmp_path):
    model = ScriptedModel([*PLANNED, say("Not yet."), say("Hm."), *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model, agent__deep_work__max_iterations=3) as app:
        work = await approved(app)
        assert work.pause is PauseReason.LIMIT
        work = await app.works.resume(work.id, message="Try harder", limits=Limits(steps=20))
        assert work.pause is None
        found = await settled(app)
        assert (found.work.phase, found.work.pause) == (WorkPhase.COMPLETE, None)


async def test_a_request_under_way_holds_a_part_of_the_budget_and_not_all_the_rest(tmp_path):
    begun = asyncio.Event()
    async with make_app(tmp_path, model=ScriptedModel([*PLANNED, hanging(begun)])) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        # Whoever dies now has used it up.
        assert 0 < (await line(app, work, "tokens")).held < 20_000
        await app.works.abandon(work.id)


async def test_what_all_turns_of_a_work_use_is_counted_together(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([*PLANNED, *CARRIED_OUT, *REVIEWED])) as app:
        work = await approved(app)
        assert (await line(app, work, "steps")).spent == 6
        turns = await app.sessions.turns(SESSION)
        assert (await line(app, work, "tokens")).spent == sum(
            turn.spent.total_tokens for turn in turns
        )
