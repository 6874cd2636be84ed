"""What persons say to a work: approve, revise, decline, pause, resume, answer, abandon."""

import asyncio

import pytest
from tests.integration.stories import SESSION, ended, hands, hear, told
from tests.integration.works.plans import (
    CARRIED_OUT,
    GOAL,
    PLANNED,
    REVIEWED,
    WHOLE,
    approved,
    called,
    hanging,
    planned,
    turns_of,
)
from tests.integration.works.stories import FILE, done, phases, settled, task, write

from long_running_agents.domain.events import ApprovalRequested, PlanReady
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.session import Mode
from long_running_agents.domain.task import TaskStatus
from long_running_agents.domain.turn import Terms, TurnOrigin, TurnStatus
from long_running_agents.domain.work import EvidenceState, PauseReason, PlanState, WorkPhase
from long_running_agents.errors import Busy, UsageError
from long_running_agents.testing import ScriptedModel, call, calls, fail, make_app, say

pytestmark = pytest.mark.anyio

USER, WORK = TurnOrigin.USER, TurnOrigin.WORK
DONE = TurnStatus.DONE
BOUNDED = Terms(mode=Mode.BOUNDED)


def revised(number, **changes):
    return call("manage_tasks", action="update", task_id=number, **changes)


def proposed(*patch, reason="It is needed."):
    return call("propose_change", reason=reason, patch=list(patch))


async def test_a_plan_waits_for_approval_and_is_frozen_then(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel(WHOLE)) as app:
        work = await planned(app)
        assert (work.phase, work.pause) == (WorkPhase.PLAN_READY, None)
        [ready] = await told(app, PlanReady)
        assert (ready.version, [each.title for each in ready.tasks]) == (1, ["Write the file"])
        assert await turns_of(app) == [(USER, DONE)]
        with pytest.raises(Busy, match="not paused"):
            await app.works.resume(work.id)
        await app.works.approve(work.id)
        with pytest.raises(Busy, match="No plan waits"):
            await app.works.approve(work.id)
        found = await settled(app)
        assert found.work.phase is WorkPhase.COMPLETE
        [plan] = found.plans
        assert (plan.version, plan.state, plan.by) == (1, PlanState.APPROVED, app.turns.owner)
        assert found.tasks[0].planned
        assert await turns_of(app) == [(USER, DONE), (WORK, DONE), (WORK, DONE)]


@pytest.mark.parametrize("how", ["revise", "message"])
async def test_a_plan_is_made_anew_with_what_a_person_says(tmp_path, how):
    other = [revised(1, title="Write the other file"), say("Another plan.")]
    model = ScriptedModel([*PLANNED, *other, *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model) as app:
        work = await planned(app)
        if how == "revise":
            assert (await app.works.revise(work.id, "Another one")).phase is WorkPhase.PLANNING
        else:
            await app.turns.start(SESSION, "Another one")
        found = await settled(app)
        assert found.work.phase is WorkPhase.PLAN_READY
        assert "write_file" not in model.tools_offered[2]
        assert [each.title for each in found.tasks] == ["Write the other file"]
        assert [ready.version for ready in await told(app, PlanReady)] == [1, 1]
        await app.works.approve(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        assert await turns_of(app) == [(USER, DONE), (USER, DONE), (WORK, DONE), (WORK, DONE)]


async def test_a_declined_plan_ends_the_work(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([*PLANNED, say("Hello.")])) as app:
        work = await planned(app)
        assert (await app.works.decline(work.id)).phase is WorkPhase.ABANDONED
        assert await phases(app) == ["planning", "plan_ready", "abandoned"]
        assert len(await told(app, PlanReady)) == 1
        for change in (app.works.approve, app.works.resume, app.works.pause, app.works.abandon):
            with pytest.raises(Busy):
                await change(work.id)
        assert (await ended(app, "Hello?")).work_id is None


async def test_a_paused_turn_goes_on_and_no_tool_runs_twice(tmp_path):
    begun, paid = asyncio.Event(), []

    async def pay() -> str:
        paid.append("paid")
        return "paid"

    model = ScriptedModel([*PLANNED, call("pay"), hanging(begun), *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model, toolsets=[hands(pay)]) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        work = await app.works.pause(work.id)
        assert (work.phase, work.pause) == (WorkPhase.EXECUTING, PauseReason.PERSON)
        assert await turns_of(app) == [(USER, DONE), (WORK, TurnStatus.STOPPED)]
        # Paused once is paused.
        assert (await app.works.pause(work.id)).pause is PauseReason.PERSON
        await app.works.resume(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        assert paid == ["paid"]
        # The same turn, and not another.
        assert await turns_of(app) == [(USER, DONE), (WORK, DONE), (WORK, DONE)]
        assert (await phases(app))[2:5] == ["executing", "executing/person", "executing"]


async def test_a_tool_that_was_running_when_a_work_was_paused_is_not_run_again(tmp_path):
    begun, paid = asyncio.Event(), []

    async def pay() -> str:
        paid.append("paid")
        begun.set()
        await asyncio.Event().wait()
        return "paid"

    model = ScriptedModel([*PLANNED, call("pay"), *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model, toolsets=[hands(pay)]) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        await app.works.pause(work.id)
        await app.works.resume(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        assert paid == ["paid"]
        assert "UNCERTAIN" in str(model.requests[3])


async def test_who_stops_a_turn_pauses_its_work(tmp_path):
    begun = asyncio.Event()
    model = ScriptedModel([*PLANNED, hanging(begun), *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        await app.turns.stop(SESSION)
        found = await settled(app)
        assert (found.work.pause, found.work.note) == (PauseReason.PERSON, "A person stopped it.")
        await app.works.resume(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE


async def test_a_paused_work_begins_nothing_that_was_in_line(tmp_path):
    begun, going = asyncio.Event(), asyncio.Event()

    async def look() -> str:
        begun.set()
        await going.wait()
        return "seen"

    model = ScriptedModel(
        [*PLANNED, call("look"), say("I looked."), call("look"), say("Hello."), *WHOLE[2:]]
    )
    async with make_app(tmp_path, model=model, toolsets=[hands(look)]) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        # It runs while the work's next turn is in line behind it.
        other = await app.turns.start(SESSION, "Hello?", terms=BOUNDED)
        begun.clear()
        going.set()
        [_, first, *_] = await app.sessions.turns(SESSION)
        await app.turns.settled(first.id)
        going.clear()
        await begun.wait()
        await app.works.pause(work.id)
        going.set()
        assert (await app.turns.settled(other.id)).answer == "Hello."
        found = await settled(app)
        assert (found.work.phase, found.work.pause) == (WorkPhase.EXECUTING, PauseReason.PERSON)
        assert (await turns_of(app))[-1] == (WORK, TurnStatus.STOPPED)
        await app.works.resume(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE


async def test_a_model_that_does_not_answer_lets_the_work_wait_and_is_asked_again(tmp_path):
    model = ScriptedModel([*PLANNED, write("out.txt", "a grey heron"), fail(401), *WHOLE[3:]])
    async with make_app(tmp_path, model=model) as app:
        work = await approved(app)
        assert (work.phase, work.pause) == (WorkPhase.EXECUTING, PauseReason.STUCK)
        assert "401" in work.note
        assert (await turns_of(app))[-1] == (WORK, TurnStatus.FAILED)
        await app.works.resume(work.id)
        found = await settled(app)
        assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
        assert await called(app) == ["manage_tasks", "write_file", "manage_tasks"]
        assert await turns_of(app) == [(USER, DONE), (WORK, DONE), (WORK, DONE)]


@pytest.mark.parametrize("how", ["message", "resume"])
async def test_a_question_is_answered_by_a_message(tmp_path, how):
    model = ScriptedModel([say("Which herons?"), *WHOLE])
    async with make_app(tmp_path, model=model) as app:
        work = await planned(app)
        assert (work.phase, work.pause) == (WorkPhase.PLANNING, PauseReason.QUESTION)
        assert work.note == "Which herons?"
        if how == "message":
            await app.turns.start(SESSION, "Grey ones")
        else:
            await app.works.resume(work.id, message="Grey ones")
        found = await settled(app)
        assert (found.work.phase, found.work.pause) == (WorkPhase.PLAN_READY, None)
        assert found.work.goal == GOAL
        assert len(await app.works.every()) == 1


async def test_an_abandoned_work_stops_and_its_session_is_free(tmp_path):
    begun = asyncio.Event()
    model = ScriptedModel([*PLANNED, hanging(begun), say("Hello.")])
    async with make_app(tmp_path, model=model) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        work = await app.works.abandon(work.id)
        assert (work.phase, work.pause, work.note) == (WorkPhase.ABANDONED, None, "")
        assert work.ended_at is not None
        assert (await turns_of(app))[-1] == (WORK, TurnStatus.STOPPED)
        turn = await ended(app, "Hello?")
        assert (turn.work_id, turn.answer) == (None, "Hello.")
        assert await app.works.every(ended=False) == []


async def test_a_session_has_one_work_after_the_other(tmp_path):
    second = [task("Again", criterion=FILE), say("Again."), done(2), say("Done."), say("Well.")]
    async with make_app(tmp_path, model=ScriptedModel([*WHOLE, *second])) as app:
        first = await planned(app)
        with pytest.raises(Busy, match="has a work already"):
            await app.works.start("Something else", session_id=SESSION)
        await app.works.approve(first.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        later = await planned(app, "Once more")
        assert (later.id != first.id, later.goal) == (True, "Once more")
        await app.works.approve(later.id)
        found = await settled(app)
        assert (found.work.id, found.work.phase) == (later.id, WorkPhase.COMPLETE)
        assert [each.number for each in found.tasks] == [2]
        assert {each.task for each in found.evidence} == {2}
        kept = await app.works.get(first.id)
        assert [each.number for each in kept.tasks] == [1]
        assert len(await app.works.every(session_id=SESSION)) == 2


async def test_two_works_go_on_at_once_in_two_sessions(tmp_path):
    both, meeting = [SessionId("one"), SessionId("two")], asyncio.Barrier(2)

    async def meet() -> str:
        await meeting.wait()
        return "met"

    def steps(messages):
        replies = [*PLANNED, call("meet"), *CARRIED_OUT, *REVIEWED]
        return replies[sum(message.kind == "response" for message in messages)]

    model = ScriptedModel([steps] * 14)
    async with make_app(tmp_path, model=model, toolsets=[hands(meet)]) as app:
        works = [await planned(app, session=each) for each in both]
        for work in works:
            await app.works.approve(work.id)
        for session in both:
            found = await settled(app, session)
            assert found.work.phase is WorkPhase.COMPLETE
            assert [each.number for each in found.tasks] == [1]
        assert {work.id for work in await app.works.every()} == {work.id for work in works}


async def test_a_turn_of_a_work_waits_for_an_approval_and_goes_on_after_it(tmp_path):
    settings = {"agent__tools__require_approval": ["write_file"]}
    async with make_app(tmp_path, model=ScriptedModel(WHOLE), **settings) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        asked = await hear(app, ApprovalRequested)
        found = await settled(app)
        assert (found.work.phase, found.work.pause) == (WorkPhase.EXECUTING, None)
        assert (await turns_of(app))[-1] == (WORK, TurnStatus.WAITING)
        await app.turns.answer(asked.approval_id, allowed=True)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        assert await called(app) == ["manage_tasks", "write_file", "manage_tasks"]


async def test_a_waiting_turn_can_be_paused_and_asks_again_when_it_goes_on(tmp_path):
    settings = {"agent__tools__require_approval": ["write_file"]}
    model = ScriptedModel([*PLANNED, CARRIED_OUT[0], *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model, **settings) as app:
        work = await approved(app)
        await app.works.pause(work.id)
        assert await app.turns.open_questions(SESSION) == []
        await app.works.resume(work.id)
        await settled(app)
        [question] = await app.turns.open_questions(SESSION)
        await app.turns.answer(question.id, allowed=True)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE


async def test_a_plan_made_by_hand_is_carried_out_when_it_is_approved(tmp_path):
    plan = [
        {"title": "Write", "criterion": FILE, "paths": ["out.txt"]},
        {"title": "Look at it", "depends_on": [1], "criterion": {"kind": "human", "text": "fine"}},
    ]
    model = ScriptedModel([*CARRIED_OUT[:2], done(2), say("Look."), *REVIEWED])
    async with make_app(tmp_path, model=model) as app:
        work = await app.works.start(GOAL, session_id=SESSION, plan=plan)
        assert (work.phase, work.goal) == (WorkPhase.PLAN_READY, GOAL)
        assert (await app.sessions.get(SESSION)).title == GOAL
        found = await app.works.get(work.id)
        assert [each.depends_on for each in found.tasks] == [(), (1,)]
        await app.works.approve(work.id)
        found = await settled(app)
        assert found.work.pause is PauseReason.QUESTION
        assert found.evidence[1].state is EvidenceState.CLAIMED
        await app.works.resume(work.id, accept=[2])
        found = await settled(app)
        assert found.work.phase is WorkPhase.COMPLETE
        assert [each.by for each in found.evidence if each.task == 2][-1] == app.turns.owner


async def test_a_plan_that_makes_no_sense_begins_nothing(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        for plan in ([{"title": ""}], [{"title": "Write", "depends_on": [7]}]):
            with pytest.raises(UsageError):
                await app.works.start(GOAL, session_id=SESSION, plan=plan)
        with pytest.raises(UsageError, match="goal is empty"):
            await app.works.start(" ")
        assert await app.works.every() == []


async def test_an_approved_change_makes_the_next_version_of_the_plan(tmp_path):
    three = calls(
        task("Write the file", criterion=FILE),
        task("Look it over", criterion={"kind": "human", "text": "fine"}),
        task("Publish it", depends_on=[2], criterion={"kind": "human", "text": "published"}),
    )
    patch = (
        {"op": "add", "title": "Write more", "depends_on": [1], "criterion": more("one.txt")},
        {"op": "add", "title": "Write even more", "depends_on": [1], "criterion": more("two.txt")},
        {"op": "change", "task": 3, "title": "Save it", "criterion": more("three.txt")},
        {"op": "remove", "task": 2},
    )
    written = [write(path, "a heron") for path in ("one.txt", "two.txt", "three.txt")]
    model = ScriptedModel(
        [
            *(three, say("Three."), *CARRIED_OUT[:2], proposed(*patch), say("Wait.")),
            *(calls(*written), calls(done(3), done(4), done(5)), say("Done."), say("Well.")),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        work = await approved(app)
        assert (work.pause, work.plan_version) == (PauseReason.QUESTION, 1)
        assert "It is needed." in work.note
        with pytest.raises(Busy, match="A change of the plan waits"):
            await app.works.resume(work.id)
        ready = (await told(app, PlanReady))[-1]
        assert (ready.version, ready.reason) == (2, "It is needed.")
        assert (await app.works.approve(work.id)).plan_version == 2
        found = await settled(app)
        assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
        shown = {each.number: (each.title, each.status, each.depends_on) for each in found.tasks}
        assert shown[2][1] is TaskStatus.CANCELLED
        assert shown[3] == ("Save it", TaskStatus.COMPLETED, (2,))
        # What is added depends on the tasks that it names, and not on places in the patch.
        assert shown[4] == ("Write more", TaskStatus.COMPLETED, (1,))
        assert shown[5] == ("Write even more", TaskStatus.COMPLETED, (1,))
        assert [(each.version, each.state) for each in found.plans] == [
            (1, PlanState.APPROVED),
            (2, PlanState.APPROVED),
            (2, PlanState.APPROVED),
        ]
        assert [item["task"] for item in found.plans[-1].tasks] == [1, 3, 4, 5]


def more(path):
    return {"kind": "file", "path": path}


@pytest.mark.parametrize("how", ["decline", "revise"])
async def test_a_declined_change_is_not_asked_again(tmp_path, how):
    change = proposed({"op": "remove", "task": 1}, reason="Nobody needs it.")
    model = ScriptedModel([*PLANNED, change, say("Wait."), change, *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model) as app:
        work = await approved(app)
        assert work.pause is PauseReason.QUESTION
        if how == "decline":
            await app.works.decline(work.id)
        else:
            await app.works.revise(work.id, "It is needed.")
        found = await settled(app)
        assert "declined before" in str(model.requests[5][-1])
        assert (found.work.phase, found.work.plan_version) == (WorkPhase.COMPLETE, 1)
        assert [each.state for each in found.plans] == [PlanState.APPROVED, PlanState.DECLINED]
        assert len(await told(app, PlanReady)) == 2


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"op": "remove", "task": 7}, "#7"),
        ({"op": "change", "task": 1, "depends_on": [1]}, "wait for itself"),
        ({"op": "add", "title": "More", "criterion": FILE, "depends_on": [7]}, "#7"),
    ],
)
async def test_a_change_that_makes_no_sense_is_not_put_before_a_person(tmp_path, patch, why):
    model = ScriptedModel([*PLANNED, proposed(patch), *CARRIED_OUT, *REVIEWED])
    async with make_app(tmp_path, model=model) as app:
        work = await approved(app)
        assert why in str(model.requests[3][-1])
        assert (work.phase, work.plan_version) == (WorkPhase.COMPLETE, 1)


async def test_a_change_that_a_review_proposes_waits_for_an_answer(tmp_path):
    change = proposed({"op": "add", "title": "More", "criterion": more("two.txt")})
    model = ScriptedModel(
        [
            *(*PLANNED, *CARRIED_OUT, change, say("More is needed.")),
            *(write("two.txt", "herons"), done(2), say("Done."), *REVIEWED),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        work = await approved(app)
        assert (work.phase, work.pause) == (WorkPhase.REVIEWING, PauseReason.QUESTION)
        await app.works.approve(work.id)
        found = await settled(app)
        assert (found.work.phase, found.work.plan_version) == (WorkPhase.COMPLETE, 2)


async def test_nothing_is_decided_while_no_plan_waits(tmp_path):
    begun = asyncio.Event()
    change = proposed({"op": "remove", "task": 1})
    model = ScriptedModel([*PLANNED, change, hanging(begun)])
    async with make_app(tmp_path, model=model) as app:
        work = await planned(app)
        await app.works.approve(work.id)
        await begun.wait()
        # The turn that proposed it has not ended.
        for decide in (app.works.approve, app.works.decline):
            with pytest.raises(Busy, match="No plan waits"):
                await decide(work.id)
        with pytest.raises(Busy, match="No plan waits"):
            await app.works.revise(work.id, "Another one")
        found = await app.works.get(work.id)
        assert (found.work.phase, found.work.plan_version) == (WorkPhase.EXECUTING, 1)
        assert found.tasks[0].status is TaskStatus.PENDING
        await app.works.abandon(work.id)
