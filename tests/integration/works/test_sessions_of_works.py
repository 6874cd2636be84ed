"""A work belongs to its session and its owner: forks, deletion, exports, backups, strangers."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select
from tests.integration.stories import SESSION, ended, told
from tests.integration.works.plans import (
    CARRIED_OUT,
    GOAL,
    PLANNED,
    REVIEWED,
    WHOLE,
    approved,
    planned,
)
from tests.integration.works.stories import phases, settled

from long_running_agents.domain.budget import Limits
from long_running_agents.domain.events import PlanReady
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.work import WorkPhase
from long_running_agents.errors import NotFound
from long_running_agents.store import tables
from long_running_agents.store.backups import back_up, restore
from long_running_agents.testing import ScriptedModel, make_app, say

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
OF_A_WORK = (tables.works, tables.plans, tables.evidence, tables.tasks)


async def rows(app):
    """How many rows each table of works has."""
    counted = [select(func.count()).select_from(table) for table in OF_A_WORK]
    return await app.database.read(lambda tx: [tx.execute(each).scalar() for each in counted])


async def test_nobody_else_sees_or_changes_a_work(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel(PLANNED)) as app:
        work, other = await planned(app), app.works.of("other")
        assert await other.every() == []
        assert await other.every(session_id=SESSION) == []
        for ask in (
            *(other.get, other.report, other.approve, other.decline, other.pause),
            *(other.resume, other.abandon),
        ):
            with pytest.raises(NotFound):
                await ask(work.id)
        with pytest.raises(NotFound):
            await other.revise(work.id, "Another one")
        with pytest.raises(NotFound):
            await other.resume(work.id, limits=Limits(steps=5), accept=[1])
        for plan in ((), [{"title": "Mine"}]):
            with pytest.raises(NotFound):
                await other.start("Mine", session_id=SESSION, plan=plan)
        assert (await app.works.get(work.id)).work == work


async def test_a_fork_has_the_tasks_and_no_work(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([*WHOLE, say("Hello.")])) as app:
        work = await planned(app)
        fork = await app.sessions.fork(SESSION)
        assert await app.works.every(session_id=fork.id) == []
        [copied] = await app.sessions.tasks(fork.id)
        assert (copied.title, copied.work_id, copied.planned) == ("Write the file", None, False)
        assert {turn.work_id for turn in await app.sessions.turns(fork.id)} == {None}
        # A plan that waits there could not be approved.
        assert await told(app, PlanReady, fork.id) == []
        assert await phases(app, fork.id) == []
        await app.works.approve(work.id)
        assert (await settled(app)).work.phase is WorkPhase.COMPLETE
        later = await app.sessions.fork(SESSION)
        turn = await ended(app, "Hello?", later.id)
        assert (turn.work_id, turn.answer) == (None, "Hello.")
        assert len(await app.works.every()) == 1


async def test_a_deleted_session_takes_its_works_along(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel(WHOLE * 2)) as app:
        other = SessionId("other")
        await approved(app)
        kept = await approved(app, other)
        before = await rows(app)
        await app.sessions.delete(SESSION)
        after = await rows(app)
        assert [2 * each for each in after] == before
        assert all(after)
        assert [work.id for work in await app.works.every()] == [kept.id]
        await app.sessions.delete(other)
        assert await rows(app) == [0, 0, 0, 0]


async def test_an_imported_session_has_the_tasks_and_no_work(tmp_path):
    async with make_app(tmp_path / "one", model=ScriptedModel(PLANNED)) as app:
        await planned(app)
        text = await app.sessions.export(SESSION, "jsonl")
    async with make_app(tmp_path / "two", model=ScriptedModel([say("Hello.")])) as app:
        taken = await app.sessions.take_over(text)
        assert await app.works.every() == []
        [task] = await app.sessions.tasks(taken.id)
        assert (task.title, task.work_id) == ("Write the file", None)
        assert await told(app, PlanReady, taken.id) == []
        assert await phases(app, taken.id) == []
        turn = await ended(app, "Hello?", taken.id)
        assert (turn.work_id, turn.answer) == (None, "Hello.")


async def test_an_export_does_not_say_that_a_person_said_what_the_work_did(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel(WHOLE)) as app:
        await approved(app)
        shown = await app.sessions.export(SESSION, "md")
        said = [part.partition("\n")[0].split(",")[0] for part in shown.split("\n## ")[1:]]
        assert said == ["You", "The work", "The work"]


@pytest.mark.parametrize("phase", ["plan_ready", "complete"])
async def test_a_restored_home_goes_on_with_its_work(tmp_path, phase):
    home, again, backup = tmp_path / "one", tmp_path / "two", tmp_path / "backup.db"
    async with make_app(home, model=ScriptedModel(WHOLE)) as app:
        work = await (planned(app) if phase == "plan_ready" else approved(app))
        assert work.phase == phase
        before = await app.works.get(work.id)
        back_up(app.loaded, NOON, backup)
    async with make_app(again, model=ScriptedModel([])) as app:
        loaded = app.loaded
    restore(loaded, backup, NOON)
    (again / "workspace").mkdir(exist_ok=True)
    async with make_app(again, model=ScriptedModel([*CARRIED_OUT, *REVIEWED])) as app:
        found = await app.works.get(work.id)
        assert (found.work, found.plans, found.evidence) == (work, before.plans, before.evidence)
        assert found.work.goal == GOAL
        if phase == "plan_ready":
            await app.works.approve(work.id)
            assert (await settled(app)).work.phase is WorkPhase.COMPLETE
