"""Works: planned, approved, carried out, proven and reviewed."""

import pytest
from tests.integration.stories import SESSION, ended
from tests.integration.works.stories import DEEP, FILE, done, phases, settled, task, write

from long_running_agents.domain.work import EvidenceState, WorkPhase
from long_running_agents.testing import ScriptedModel, make_app, say

pytestmark = pytest.mark.anyio


async def test_a_work_is_planned_approved_done_proven_and_reviewed(tmp_path):
    model = ScriptedModel(
        [
            task("Write the file", criterion=FILE),
            say("One file is to be written."),
            write("out.txt", "a grey heron"),
            done(1),
            say("It is written."),
            say("All is well."),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Write about herons", terms=DEEP)
        assert turn.work_id is not None
        found = await settled(app)
        assert found.work.phase is WorkPhase.PLAN_READY
        assert "write_file" not in model.tools_offered[0]
        await app.works.approve(found.work.id)
        found = await settled(app)
        assert (found.work.phase, found.work.pause, found.work.note) == (
            WorkPhase.COMPLETE,
            None,
            "",
        )
        assert {each.state for each in found.evidence} == {EvidenceState.VERIFIED}
        assert await phases(app) == ["planning", "plan_ready", "executing", "reviewing", "complete"]
        assert (await app.sessions.get(SESSION)).mode == "bounded"
