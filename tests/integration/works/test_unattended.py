"""Works that nobody watches: what each policy lets them do, and what waits for a person."""

import pytest
from tests.integration.stories import SESSION
from tests.integration.works.plans import CARRIED_OUT, GOAL, PLANNED, REVIEWED, WHOLE, called
from tests.integration.works.stories import FILE, done, settled, task, write

from long_running_agents.domain.task import Scope
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.domain.work import PauseReason, PlanPolicy, WorkPhase
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

OUT = Scope(paths=("out.txt",))
SCOPED = task("Write the file", criterion=FILE, paths=["out.txt"])


async def begun(app, policy, **options):
    """Begin a work that nobody watches, and wait until it does not go on by itself."""
    await app.works.start(GOAL, session_id=SESSION, policy=policy, attended=False, **options)
    return await settled(app)


async def test_a_plan_waits_for_whoever_comes(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel(WHOLE)) as app:
        found = await begun(app, PlanPolicy.ASK)
        assert (found.work.phase, found.work.attended) == (WorkPhase.PLAN_READY, False)
    # Nothing sleeps meanwhile: it may be another process that carries it out.
    async with make_app(tmp_path, model=ScriptedModel(WHOLE[2:])) as app:
        await app.works.approve(found.work.id)
        found = await settled(app)
        assert found.work.phase is WorkPhase.COMPLETE
        assert {turn.attended for turn in await app.sessions.turns(SESSION)} == {False}


async def test_a_plan_within_the_scope_needs_nobody_and_a_call_beyond_it_is_denied(tmp_path):
    model = ScriptedModel(
        [SCOPED, say("Planned."), write("other.txt", "a heron"), *CARRIED_OUT, *REVIEWED]
    )
    async with make_app(tmp_path, model=model) as app:
        found = await begun(app, PlanPolicy.AUTO_WITHIN_SCOPE, scope=OUT)
        assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
        assert "other.txt is outside the scope of the work" in str(model.requests[3][-1])
        workspace = app.loaded.home / "workspace"
        assert [path.name for path in workspace.glob("*.txt")] == ["out.txt"]
        assert [plan.by for plan in found.plans] == ["policy"]
        assert (found.drift.paths, found.drift.hosts) == ((), ())


@pytest.mark.parametrize(
    "wanted",
    [
        task("Write more", criterion={"kind": "file", "path": "lib/a.txt"}, paths=["lib"]),
        task("Write anywhere", criterion=FILE),
    ],
)
async def test_a_plan_beyond_the_scope_waits_and_may_reach_as_far_when_a_person_approves_it(
    tmp_path, wanted
):
    written = [write("lib/a.txt", "herons"), write("out.txt", "a grey heron"), done(1)]
    model = ScriptedModel([wanted, say("Planned."), *written, say("Done."), *REVIEWED])
    async with make_app(tmp_path, model=model) as app:
        found = await begun(app, PlanPolicy.AUTO_WITHIN_SCOPE, scope=OUT)
        assert (found.work.phase, found.work.pause) == (WorkPhase.PLAN_READY, PauseReason.QUESTION)
        assert found.work.note == "The plan goes beyond the scope of the work."
        await app.works.approve(found.work.id)
        found = await settled(app)
        assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
        assert (app.loaded.home / "workspace" / "lib" / "a.txt").exists()


async def test_a_change_of_the_plan_waits_whatever_the_policy_says(tmp_path):
    patch = [{"op": "add", "title": "More", "criterion": {"kind": "file", "path": "b.txt"}}]
    change = call("propose_change", reason="More is needed.", patch=patch)
    more = [write("b.txt", "herons"), *CARRIED_OUT[:2], done(2), say("Done."), *REVIEWED]
    model = ScriptedModel([SCOPED, say("Planned."), change, say("Wait."), *more])
    async with make_app(tmp_path, model=model) as app:
        found = await begun(app, PlanPolicy.AUTO_WITHIN_SCOPE, scope=OUT)
        assert (found.work.phase, found.work.pause) == (WorkPhase.EXECUTING, PauseReason.QUESTION)
        await app.works.approve(found.work.id)
        found = await settled(app)
        assert (found.work.phase, found.work.plan_version) == (WorkPhase.COMPLETE, 2)


async def test_with_read_only_it_is_carried_out_with_tools_that_only_read(tmp_path):
    looked = {"kind": "call", "tool": "list_files"}
    model = ScriptedModel(
        [
            *(task("Look", criterion=looked), say("I shall look.")),
            *(call("list_files"), done(1), say("I looked."), *REVIEWED),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        found = await begun(app, PlanPolicy.READ_ONLY)
        assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
        assert [plan.by for plan in found.plans] == ["policy"]
        for offered in model.tools_offered:
            assert {"manage_tasks", "list_files"} <= {*offered}
            assert not {"write_file", "edit_file", "shell", "execute_code"} & {*offered}


async def test_with_read_only_a_tool_that_writes_cannot_be_called(tmp_path):
    model = ScriptedModel([*PLANNED, CARRIED_OUT[0], say("I could not."), say("Nor now.")])
    async with make_app(tmp_path, model=model) as app:
        found = await begun(app, PlanPolicy.READ_ONLY)
        assert found.work.pause is PauseReason.STUCK
        assert not (app.loaded.home / "workspace" / "out.txt").exists()


@pytest.mark.parametrize("policy", [PlanPolicy.AUTO_WITHIN_SCOPE, PlanPolicy.READ_ONLY])
async def test_a_plan_without_criteria_is_asked_for_them_once_and_waits_then(tmp_path, policy):
    model = ScriptedModel([task("Write", paths=["out.txt"]), say("Planned."), say("It is fine.")])
    async with make_app(tmp_path, model=model) as app:
        found = await begun(app, policy, scope=OUT)
        assert (found.work.phase, found.work.pause) == (WorkPhase.PLAN_READY, PauseReason.QUESTION)
        assert "no criterion" in found.work.note
        assert "#1" in str(model.requests[2][-1])
        turns = await app.sessions.turns(SESSION)
        assert [turn.status for turn in turns] == [TurnStatus.DONE] * 2


async def test_what_needs_an_approval_is_denied_and_the_work_goes_on(tmp_path):
    tools = {"agent__tools__require_approval": ["write_file"]}
    plan = [{"title": "Write", "criterion": FILE, "paths": ["out.txt"]}]
    model = ScriptedModel([CARRIED_OUT[0], say("I may not."), say("I still may not.")])
    async with make_app(tmp_path, model=model, **tools) as app:
        found = await begun(app, PlanPolicy.AUTO_WITHIN_SCOPE, scope=OUT, plan=plan)
        assert found.work.pause is PauseReason.STUCK
        assert await app.turns.open_questions() == []
        assert await called(app) == ["write_file"]
        assert [turn.status for turn in await app.sessions.turns(SESSION)] == [TurnStatus.DONE] * 2


async def test_the_settings_say_what_a_work_may_do_unless_it_is_said(tmp_path):
    settings = {"agent__deep_work__plan_policy": "read_only"}
    async with make_app(tmp_path, model=ScriptedModel([say("What?")]), **settings) as app:
        work = await app.works.start(GOAL, session_id=SESSION)
        assert work.policy is PlanPolicy.READ_ONLY
        await settled(app)
