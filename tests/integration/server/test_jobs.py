"""Jobs over HTTP: as a program sees them, through the client and as they are."""

import pytest
from tests.integration.server.owners import believing
from tests.integration.server.serving import served

from long_running_agents.client import Client
from long_running_agents.domain.job import JobId, JobState
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import NotFound, Taken, UsageError
from long_running_agents.testing import say

pytestmark = pytest.mark.anyio

DAILY = {"name": "Morning", "schedule": "daily 09:00", "prompt": "Look around.", "zone": "UTC"}
MORNING = JobId("morning")


async def test_a_client_does_what_the_service_does(tmp_path):
    async with (
        served(tmp_path, say("All is well.")) as (_, http),
        Client.at(str(http.base_url)) as far,
    ):
        made = await far.jobs.add(DAILY)
        assert (made.job.id, made.job.state) == (MORNING, JobState.ACTIVE)
        assert len(made.schedule.next_times) == 5
        assert (await far.jobs.preview("every 2h", zone="UTC")).words == "Every 2 hours"
        assert [view.job.id for view in await far.jobs.every()] == [MORNING]
        run = await far.jobs.run(MORNING, key="once")
        again = await far.jobs.run(MORNING, key="once")
        assert run.firing.turn_id == again.firing.turn_id
        done = await far.turns.settled(run.firing.turn_id)
        assert (done.status, done.answer) == (TurnStatus.DONE, "All is well.")
        [told] = await far.jobs.history(MORNING)
        assert (told.status, told.answer) == (TurnStatus.DONE, "All is well.")
        assert (await far.jobs.pause(MORNING)).job.state is JobState.PAUSED
        edited = await far.jobs.edit(MORNING, {"schedule": "hourly :15"})
        assert edited.job.version == 2
        assert (await far.jobs.resume(MORNING)).job.next_at.minute == 15
        text = await far.jobs.export()
        await far.jobs.remove(MORNING)
        [back] = await far.jobs.bring_in(text)
        assert back.job.schedule == "hourly :15"
        with pytest.raises(NotFound):
            await far.jobs.get(JobId("nobody"))
        with pytest.raises(Taken):
            await far.jobs.add(DAILY)
        with pytest.raises(UsageError, match="sometimes"):
            await far.jobs.preview("sometimes")


async def test_a_client_sees_what_was_told_and_no_secret_of_its_address(tmp_path):
    url = "http://127.0.0.1:9/S3CRET"
    async with (
        served(tmp_path, say("All is well."), notices__urls=[url]) as (_, http),
        Client.at(str(http.base_url)) as far,
    ):
        await far.jobs.add({**DAILY, "notify": ["result"]})
        run = await far.jobs.run(MORNING)
        await far.turns.settled(run.firing.turn_id)
        [notice] = await far.jobs.notices()
        settings = (await http.get("/api/settings")).text
    assert (notice.title, notice.text) == ("Morning: done", "All is well.")
    assert notice.target.startswith("http://127.0.0.1:9 (")
    assert "notices.urls" in settings
    assert "S3CRET" not in settings


async def test_who_may_only_read_or_chat_changes_no_job(tmp_path):
    async with believing(tmp_path) as (_, client):
        await client().ok("POST", "/api/jobs", json={"job": DAILY})
        writer = client(scopes="read chat")
        assert len((await writer.ok("GET", "/api/jobs"))["jobs"]) == 1
        for method, path, body in [
            ("POST", "/api/jobs", {"job": DAILY}),
            ("POST", "/api/jobs/morning/run", {}),
            ("PATCH", "/api/jobs/morning", {"changes": {"prompt": "Mine."}}),
            ("POST", "/api/cron/morning/toggle", None),
            ("DELETE", "/api/jobs/morning", None),
        ]:
            assert await writer.refused(method, path, json=body) == (403, "denied")
