"""What a death between two transactions leaves of a work; tests/e2e/work_chaos.py kills for it."""

import pytest
from sqlalchemy import select
from tests.integration.stories import SESSION
from tests.integration.works.plans import WHOLE, approved

from long_running_agents.domain.task import TaskStatus
from long_running_agents.domain.work import WorkPhase
from long_running_agents.store import tables, tasks
from long_running_agents.testing import ScriptedModel, make_app
from long_running_agents.tools.evidence import record

pytestmark = pytest.mark.anyio


async def test_a_claim_that_is_repeated_after_a_death_finds_its_evidence_once(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel(WHOLE)) as app:
        work = await approved(app)
        first = (await app.works.get(work.id)).evidence[0]
        now = first.at

        def again(tx):
            [cause] = tx.execute(
                select(tables.evidence.c.cause).where(tables.evidence.c.number == 1)
            ).scalars()
            tasks.change(tx, SESSION, 1, TaskStatus.IN_PROGRESS, now=now)
            return record(tx, work, first, cause)

        assert await app.database.write(again) == (first, [])
        found = await app.works.get(work.id)
        assert found.tasks[0].status is TaskStatus.COMPLETED
        assert [each.number for each in found.evidence] == [1]
        assert found.work.phase is WorkPhase.COMPLETE
