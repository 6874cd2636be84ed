"""Messages to a session with a work: each is a part of it, unless it says otherwise."""

import asyncio

import pytest
from tests.integration.stories import SESSION, ended, hands, told
from tests.integration.works.plans import (
    CARRIED_OUT,
    GOAL,
    PLANNED,
    REVIEWED,
    WHOLE,
    hanging,
    planned,
    turns_of,
)
from tests.integration.works.stories import DEEP, phases, settled

from long_running_agents.domain.events import ModeChanged
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import Terms, TurnOrigin, TurnStatus
from long_running_agents.domain.work import PauseReason, WorkPhase
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

USER, WORK = TurnOrigin.USER, TurnOrigin.WORK
DONE, STOPPED = TurnStatus.DONE, TurnStatus.STOPPED
BOUNDED = Terms(mode=Mode.BOUNDED)


class Door:
    """A tool that waits until somebody opens it."""

    def __init__(self):
        self.begun, self.open = asyncio.Event(), asyncio.Event()

    @property
    def tools(self):
        async def look() -> str:
            self.begun.set()
            await self.open.wait()
            return "seen"

        return [hands(look)]


async def test_a_bounded_message_is_no_part_of_an_open_work(tmp_path):
    model = ScriptedModel([*PLANNED, say("Hello."), *WHOLE[2:]])
    async with make_app(tmp_path, model=model) as app:
        work = await planned(app)
        turn = await ended(app, "Hello?", terms=BOUNDED)
        assert (turn.work_id, turn.mode, turn.answer) == (None, Mode.BOUNDED, "Hello.")
        found = await settled(app)
        assert (found.work.phase, found.work.pause) == (WorkPhase.PLAN_READY, None)
        assert "write_file" in model.tools_offered[2]
        assert "manage_tasks" not in model.tools_offered[2]
        await app.works.approve(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE


async def test_a_message_in_the_midst_is_answered_before_the_work_goes_on(tmp_path):
    door = Door()
    model = ScriptedModel(
        [*PLANNED, call("look"), say("I looked."), say("Grey ones."), *CARRIED_OUT, *REVIEWED]
    )
    async with make_app(tmp_path, model=model, toolsets=door.tools) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await door.begun.wait()
        turn = await app.turns.start(SESSION, "Which ones?", terms=DEEP)
        door.open.set()
        assert (await app.turns.settled(turn.id)).answer == "Grey ones."
        assert turn.work_id == work.id
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        origins = [origin for origin, _ in await turns_of(app)]
        assert origins == [USER, WORK, USER, WORK, WORK]


async def test_a_message_that_steers_is_heard_by_the_turn_of_the_work(tmp_path):
    door = Door()
    model = ScriptedModel([*PLANNED, call("look"), *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model, toolsets=door.tools) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await door.begun.wait()
        await app.turns.start(SESSION, "Grey ones, please", terms=Terms(steer=True))
        door.open.set()
        found = await settled(app)
        assert (found.work.phase, found.work.turns) == (WorkPhase.COMPLETE, 2)
        assert "Grey ones, please" in str(model.requests[3])
        assert [status for _, status in await turns_of(app)] == [
            *(DONE, DONE, TurnStatus.STEERED, DONE),
        ]


async def test_a_pause_stops_a_message_that_is_in_line_and_resume_hears_it(tmp_path):
    begun = asyncio.Event()
    model = ScriptedModel([*PLANNED, hanging(begun), say("Grey ones."), *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        await app.turns.start(SESSION, "Which ones?")
        await app.works.pause(work.id)
        assert await turns_of(app) == [(USER, DONE), (WORK, STOPPED), (USER, STOPPED)]
        assert (await settled(app)).work.pause is PauseReason.PERSON
        await app.works.resume(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        assert (await turns_of(app))[2] == (USER, DONE)


async def test_a_planning_turn_can_be_paused_and_goes_on(tmp_path):
    begun = asyncio.Event()
    model = ScriptedModel([PLANNED[0], hanging(begun), *WHOLE[1:]])
    async with make_app(tmp_path, model=model) as app:
        turn = await app.turns.start(SESSION, GOAL, terms=DEEP)
        await begun.wait()
        work = await app.works.pause(turn.work_id)
        assert (work.phase, work.pause) == (WorkPhase.PLANNING, PauseReason.PERSON)
        await app.works.resume(work.id)
        found = await settled(app)
        assert (found.work.phase, len(found.tasks)) == (WorkPhase.PLAN_READY, 1)
        assert await turns_of(app) == [(USER, DONE)]
        # A plan that waits can be put off, too.
        assert (await app.works.pause(work.id)).pause is PauseReason.PERSON
        assert (await app.works.resume(work.id)).phase is WorkPhase.PLAN_READY
        await app.works.approve(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE


async def test_two_messages_at_once_begin_one_work(tmp_path):
    model = ScriptedModel([*PLANNED, say("Grey ones, then."), *WHOLE[2:]])
    async with make_app(tmp_path, model=model) as app:
        first, second = await asyncio.gather(
            *(app.turns.start(SESSION, text, terms=DEEP) for text in (GOAL, "Grey ones"))
        )
        assert first.work_id == second.work_id is not None
        found = await settled(app)
        assert (found.work.phase, found.work.goal) == (WorkPhase.PLAN_READY, GOAL)
        assert await phases(app) == ["planning", "plan_ready"]


async def test_a_session_for_deep_work_is_an_ordinary_one_after_it(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([*WHOLE, say("Hello.")])) as app:
        await app.sessions.create(session_id=SESSION, mode=Mode.DEEP_WORK)
        assert (await ended(app, GOAL)).work_id is not None
        [work] = await app.works.every()
        await app.works.approve(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        assert [event.mode for event in await told(app, ModeChanged)] == [Mode.BOUNDED]
        assert (await ended(app, "Hello?")).work_id is None
