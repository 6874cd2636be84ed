"""Notices out of jobs: each is sent once, whatever happens to the server or to us."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from tests.contract.fake_servers import FakeServer
from tests.integration.stories import hands
from tests.integration.works.plans import GOAL, WHOLE
from tests.integration.works.stories import settled

from long_running_agents import doctor
from long_running_agents.domain.job import JobId, JobState
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.domain.work import WorkPhase
from long_running_agents.testing import FrozenClock, ScriptedModel, call, fail, make_app, say

pytestmark = pytest.mark.anyio

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)
EVERYTHING = ["result", "failure", "silence", "approval"]
DAILY = {"name": "Morning", "schedule": "daily 09:00", "prompt": "Look around.", "zone": "UTC"}
DAILY["notify"] = EVERYTHING
MORNING = JobId("morning")
PATH = "/hooks/T0/S3CRET"


class Receiver:
    """Takes notices, unless it is down."""

    def __init__(self):
        self.told, self.status, self.heard = [], 200, asyncio.Event()
        self.server = FakeServer({PATH: self._take})

    def _take(self, body):
        if self.status == 200:
            self.told.append(body)
        self.heard.set()
        return self.status, {}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.port}{PATH}"

    @property
    def titles(self):
        return [each["title"] for each in self.told]


@pytest.fixture
async def receiver():
    made = Receiver()
    async with made.server.running():
        yield made


@asynccontextmanager
async def open_home(home, receiver, *replies, clock=None, **options):
    """A home that tells the receiver."""
    made = make_app(
        home,
        model=ScriptedModel([*replies]),
        clock=clock or FrozenClock(NINE),
        notices__urls=[receiver.url],
        **options,
    )
    async with made as app:
        yield app


async def run(app, job_id=MORNING):
    """Let a job run, and its turn come to rest."""
    view = await app.jobs.run(job_id)
    return await app.turns.settled(view.firing.turn_id)


async def deliver(app):
    """Send what is due; what is known of all notices, the newest first."""
    await app.jobs.scheduler.notices.deliver()
    return await app.jobs.notices()


async def test_what_a_run_answered_is_told_once(tmp_path, receiver):
    async with open_home(tmp_path, receiver, say("All is well.")) as app:
        await app.jobs.add(DAILY)
        turn = await run(app)
        await deliver(app)
        [notice] = await deliver(app)

    assert receiver.told == [
        {
            "kind": "result",
            "job": "morning",
            "title": "Morning: done",
            "text": "All is well.",
            "session_id": "job-morning",
            "turn_id": turn.id,
            "at": NINE.isoformat(),
        }
    ]
    [(_, _, headers)] = receiver.server.asked
    assert headers["webhook-id"] == notice.key == f"result:{turn.id}"
    assert (notice.sent_at, notice.next_at, notice.error) == (NINE, None, "")


async def test_a_running_home_sends_at_once_and_when_the_server_is_back(tmp_path, receiver):
    clock = FrozenClock(NINE)
    receiver.status = 500
    async with open_home(tmp_path, receiver, say("All is well."), clock=clock) as app:
        await app.jobs.scheduler.open()
        await app.jobs.add(DAILY)
        await run(app)
        await receiver.heard.wait()
        receiver.heard.clear()
        receiver.status = 200
        while not receiver.heard.is_set():
            # What came of the first attempt may still be on its way to the disk.
            await clock.advance(30)
            await app.jobs.notices()
        while not (notice := (await app.jobs.notices())[0]).sent_at:
            await clock.advance(0)
    assert receiver.titles == ["Morning: done"]
    assert notice.attempts == 2


async def test_a_server_that_is_down_is_tried_less_and_less_often_until_it_is_up(
    tmp_path, receiver
):
    clock = FrozenClock(NINE)
    receiver.status = 302
    async with open_home(tmp_path, receiver, say("All is well."), clock=clock) as app:
        await app.jobs.add(DAILY)
        await run(app)
        waits = []
        for _ in range(4):
            [notice] = await deliver(app)
            waits.append(notice.next_at - clock.now())
            assert await deliver(app) == [notice]
            clock.set(notice.next_at)
        assert [wait.total_seconds() for wait in waits] == [60, 300, 1800, 7200]
        assert notice.error == "It answered with status 302."
        receiver.status = 200
        await deliver(app)
        clock.set(NINE + timedelta(days=9))
        [notice] = await deliver(app)
    assert receiver.titles == ["Morning: done"]
    assert (notice.attempts, notice.error) == (5, "")


async def test_a_death_before_it_is_sent_loses_nothing(tmp_path, receiver):
    async with open_home(tmp_path, receiver, say("All is well.")) as app:
        await app.jobs.add(DAILY)
        await run(app)
    assert receiver.told == []
    async with open_home(tmp_path, receiver) as app:
        await deliver(app)
    async with open_home(tmp_path, receiver) as app:
        await deliver(app)
    assert receiver.titles == ["Morning: done"]


async def test_a_death_before_it_is_written_down_sends_it_again_under_the_same_key(
    tmp_path, receiver
):
    async with open_home(tmp_path, receiver, say("All is well.")) as app:
        await app.jobs.add(DAILY)
        await run(app)
        [notice] = await app.jobs.notices()
        await app.jobs.scheduler.notices.notifiers[notice.target](notice)
    async with open_home(tmp_path, receiver) as app:
        await deliver(app)
    first, again = [headers["webhook-id"] for _, _, headers in receiver.server.asked]
    assert first == again


async def test_each_failed_run_is_told_and_then_that_the_job_is_paused(tmp_path, receiver):
    clock = FrozenClock(NINE)
    async with open_home(tmp_path, receiver, *[fail(400)] * 3, clock=clock) as app:
        await app.jobs.add(DAILY)
        for day in (1, 2, 3, 4, 5):
            clock.set(NINE + timedelta(days=day))
            await app.jobs.scheduler.tick()
            [view] = await app.jobs.history(MORNING, limit=1)
            if view.firing.turn_id:
                await app.turns.settled(view.firing.turn_id)
            await deliver(app)
        assert (await app.jobs.get(MORNING)).job.state is JobState.PAUSED
    assert receiver.titles == [*["Morning: failed"] * 3, "Morning: paused"]
    assert "lra jobs resume morning" in receiver.told[-1]["text"]


async def test_a_run_that_used_up_its_budget_is_told_as_a_failure(tmp_path, receiver):
    async with open_home(tmp_path, receiver, call("list_files")) as app:
        await app.jobs.add({**DAILY, "limits": {"steps": 1}})
        assert (await run(app)).status is TurnStatus.LIMITED
        await deliver(app)
    [told] = receiver.told
    assert (told["kind"], told["title"]) == ("failure", "Morning: limited")
    assert "Retry the turn" in told["text"]


async def test_moments_that_cannot_run_are_told_once_for_all_in_a_row(tmp_path, receiver):
    clock = FrozenClock(NINE)
    async with open_home(tmp_path, receiver, clock=clock, budget__day__tokens=0) as app:
        await app.jobs.add(DAILY)
        for day in (1, 2, 3):
            clock.set(NINE + timedelta(days=day))
            await app.jobs.scheduler.tick()
            await deliver(app)
    [told] = receiver.told
    assert told["title"] == "Morning: could not run"
    assert "tokens" in told["text"]


async def test_silence_is_told_once_until_a_run_is_done_again(tmp_path, receiver):
    clock, day = FrozenClock(NINE), timedelta(days=1)
    async with open_home(tmp_path, receiver, say("Here."), clock=clock) as app:
        await app.jobs.add({**DAILY, "schedule": "manual", "expect_every": day.total_seconds()})
        for moment in (NINE + day * 0.9, NINE + day, NINE + 5 * day):
            clock.set(moment)
            await deliver(app)
        assert receiver.titles == ["Morning: silent"]
        await run(app)
        clock.set(NINE + 5.9 * day)
        await deliver(app)
        assert receiver.titles == ["Morning: silent", "Morning: done"]
        for _ in range(2):
            clock.set(clock.now() + day)
            await deliver(app)
    assert receiver.titles == ["Morning: silent", "Morning: done", "Morning: silent"]
    assert "since 07 March 2026 09:00 UTC" in receiver.told[-1]["text"]


async def test_a_running_home_wakes_for_silence(tmp_path, receiver):
    clock = FrozenClock(NINE)
    async with open_home(tmp_path, receiver, clock=clock) as app:
        await app.jobs.scheduler.open()
        await app.jobs.add({**DAILY, "schedule": "manual", "expect_every": 3600})
        while not receiver.heard.is_set():
            await clock.advance(600)
            await app.jobs.notices()
        while not (await app.jobs.notices())[0].sent_at:
            await clock.advance(0)
    assert receiver.titles == ["Morning: silent"]


async def test_a_question_that_waits_for_somebody_is_told(tmp_path, receiver):
    async def buy() -> str:
        return "bought"

    ask = {"agent__tools__non_interactive_approval_policy": "ask"}
    ask["agent__tools__require_approval"] = ["buy"]
    replies = [call("buy"), say("Bought.")]
    async with open_home(tmp_path, receiver, *replies, toolsets=[hands(buy)], **ask) as app:
        await app.jobs.add(DAILY)
        turn = await run(app)
        assert turn.status is TurnStatus.WAITING
        [question] = await app.turns.open_questions()
        await deliver(app)
        await app.turns.answer(question.id, allowed=True)
        await app.turns.settled(turn.id)
        await deliver(app)
    assert receiver.titles == ["Morning: waits for you", "Morning: done"]
    assert question.id in receiver.told[0]["text"]
    assert "lra approvals allow" in receiver.told[0]["text"]


async def test_of_deep_work_the_plan_that_waits_is_told_and_the_end(tmp_path, receiver):
    async with open_home(tmp_path, receiver, *WHOLE) as app:
        await app.jobs.add({**DAILY, "prompt": GOAL, "deep_work": True, "expect_every": 3600})
        await run(app)
        [work] = await app.works.every()
        assert work.phase is WorkPhase.PLAN_READY
        await deliver(app)
        await app.works.approve(work.id)
        assert (await settled(app, work.session_id)).work.phase is WorkPhase.COMPLETE
        await deliver(app)
    assert receiver.titles == ["Morning: waits for you", "Morning: done"]
    assert f"lra work show {work.id}" in receiver.told[0]["text"]


async def test_deep_work_that_cannot_go_on_is_told(tmp_path, receiver):
    async with open_home(tmp_path, receiver, *[fail(400)] * 3) as app:
        await app.jobs.add({**DAILY, "deep_work": True})
        await run(app)
        [work] = await app.works.every()
        await deliver(app)
    [told] = receiver.told
    assert (told["kind"], f"lra work resume {work.id}" in told["text"]) == ("failure", True)


async def test_what_a_job_does_not_name_is_not_told(tmp_path, receiver):
    async with open_home(tmp_path, receiver, say("All is well."), fail(400)) as app:
        await app.jobs.add({**DAILY, "notify": ["silence"]})
        await run(app)
        await run(app)
        assert await deliver(app) == []


async def test_the_jobs_of_others_are_not_told_to_the_addresses_of_the_home(tmp_path, receiver):
    async with open_home(tmp_path, receiver, say("Private.")) as app:
        other = app.jobs.of("somebody")
        await other.add(DAILY)
        view = await other.run(MORNING)
        await app.turns.of("somebody").settled(view.firing.turn_id)
        await deliver(app)
        assert await other.notices() == []
    assert receiver.told == []


async def test_without_an_address_nothing_is_written_and_nothing_waits(tmp_path):
    clock, model = FrozenClock(NINE), ScriptedModel([say("All is well.")])
    async with make_app(tmp_path, model=model, clock=clock, memory__enabled=False) as app:
        await app.jobs.scheduler.open()
        await app.jobs.add({**DAILY, "schedule": "manual", "expect_every": 3600})
        await run(app)
        clock.set(NINE + timedelta(days=1))
        assert await app.jobs.notices() == []
        assert clock.sleepers == 0


async def test_what_is_for_an_address_that_was_taken_away_says_so(tmp_path, receiver):
    async with open_home(tmp_path, receiver, say("All is well.")) as app:
        await app.jobs.add(DAILY)
        await run(app)
    async with make_app(tmp_path, model=ScriptedModel([]), clock=FrozenClock(NINE)) as app:
        [notice] = await deliver(app)
    assert notice.sent_at is None
    assert "not in notices.urls" in notice.error


async def test_the_secret_of_an_address_is_in_no_row_log_or_setting(tmp_path, receiver):
    receiver.status = 500
    async with open_home(
        tmp_path, receiver, say(f"I read {receiver.url}."), log_level="DEBUG"
    ) as app:
        await app.jobs.add(DAILY)
        await run(app)
        [notice] = await deliver(app)
        shown = app.loaded.redact(json.dumps(app.settings.notices.urls))
    assert "S3CRET" not in repr(notice)
    assert "S3CRET" not in shown
    log = (tmp_path / "logs" / "lra.log").read_text()
    assert "did not reach http://127.0.0.1" in log
    assert "S3CRET" not in log
    assert not [each for each in tmp_path.glob("lra.db*") if b"S3CRET" in each.read_bytes()]


async def test_the_doctor_says_which_address_is_not_reached(tmp_path, receiver):
    async def check():
        # It has a loop of its own.
        return await asyncio.to_thread(doctor.notices, app.loaded, FrozenClock(NINE))

    receiver.status = 500
    async with open_home(tmp_path, receiver, say("All is well.")) as app:
        assert (await check()).state is doctor.CheckState.OK
        await app.jobs.add(DAILY)
        await run(app)
        await deliver(app)
        found = await check()
    assert found.state is doctor.CheckState.WARNING
    assert "127.0.0.1" in found.detail
    assert "status 500" in found.detail
    assert "S3CRET" not in found.detail


async def test_without_apprise_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)
    async with make_app(
        tmp_path,
        model=ScriptedModel([say("All is well.")]),
        clock=FrozenClock(NINE),
        notices__urls=["tgram://S3CRET/1"],
    ) as app:
        await app.jobs.add(DAILY)
        await run(app)
        [notice] = await deliver(app)
        found = doctor.notices(app.loaded, FrozenClock(NINE))
    assert "'long-running-agents[notices]'" in notice.error
    assert (found.state, "[notices]" in found.fix) == (doctor.CheckState.WARNING, True)


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_apprise_takes_a_notice_to_the_services_that_it_knows(tmp_path, receiver):
    pytest.importorskip("apprise")
    url = f"json://127.0.0.1:{receiver.server.port}{PATH}"
    async with make_app(
        tmp_path,
        model=ScriptedModel([say("<b>All</b> is well.")]),
        clock=FrozenClock(NINE),
        notices__urls=[url, "nowhere://S3CRET"],
    ) as app:
        await app.jobs.add(DAILY)
        await run(app)
        sent = {each.target.partition(" ")[0]: each for each in await deliver(app)}
    [told] = receiver.told
    assert (told["title"], told["message"]) == ("Morning: done", "<b>All</b> is well.")
    assert sent["json"].sent_at == NINE
    assert sent["nowhere"].error == "apprise does not understand the address."
