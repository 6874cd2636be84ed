"""Jobs: every planned moment has one firing, whatever happens to the process or the clock."""

import json
import random
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

import pytest
from tests.integration.stories import hands

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.job import (
    PAUSE_AFTER,
    FiringOutcome,
    ForeignWords,
    JobId,
    JobState,
)
from long_running_agents.domain.schedule import parse_schedule
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import TurnOrigin, TurnStatus
from long_running_agents.errors import NotFound, Taken, UsageError
from long_running_agents.store import jobs as store
from long_running_agents.testing import FrozenClock, ScriptedModel, call, fail, make_app, say

pytestmark = pytest.mark.anyio

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAILY = {"name": "Morning", "schedule": "daily 09:00", "prompt": "Look around.", "zone": "UTC"}
MORNING = JobId("morning")


async def ended(app, job_id=MORNING):
    """Let the turn of a job's newest firing come to rest; what became of it."""
    [view, *_] = await app.jobs.history(job_id)
    await app.turns.settled(view.firing.turn_id)
    return (await app.jobs.history(job_id))[0]


async def outcomes(app, job_id=MORNING):
    return [str(view.firing.outcome) for view in await app.jobs.history(job_id, limit=1000)]


def at(moment):
    return FrozenClock(moment)


async def test_a_moment_that_has_come_is_a_firing_with_its_turn(tmp_path):
    clock = at(NINE - timedelta(hours=1))
    model = ScriptedModel([say("All is well.")])
    async with make_app(tmp_path, model=model, clock=clock) as app:
        view = await app.jobs.add(DAILY)
        assert view.schedule.words.startswith("At 09:00")
        assert view.job.next_at == NINE
        await app.jobs.scheduler.tick()
        assert await outcomes(app) == []
        clock.set(NINE)
        await app.jobs.scheduler.tick()
        await app.jobs.scheduler.tick()
        run = await ended(app)
        turn = await app.turns.get(run.firing.turn_id)

    assert (run.firing.outcome, run.status, run.answer) == ("ran", TurnStatus.DONE, "All is well.")
    assert (turn.origin, turn.attended, turn.session_id) == (TurnOrigin.JOB, False, "job-morning")


async def test_each_run_sees_the_last_result_and_nothing_else_of_its_session(tmp_path):
    clock, model = at(NINE), ScriptedModel([say("First result."), say("Second.")])
    async with make_app(tmp_path, model=model, clock=clock, memory__enabled=False) as app:
        await app.jobs.add(DAILY)
        for day in (1, 2):
            clock.set(NINE + timedelta(days=day))
            await app.jobs.scheduler.tick()
            await ended(app)

    [asked] = model.requests[1]
    assert "> First result." in str(asked)
    assert "Look around." in str(asked)


@pytest.mark.parametrize(
    ("missed", "found"),
    [
        ("skip", ["missed"] * 3),
        ("once", ["ran", "missed", "missed"]),
        ("all", ["ran", "ran", "ran"]),
    ],
)
async def test_what_was_missed_is_told_or_caught_up_as_the_job_says(tmp_path, missed, found):
    clock, model = at(NINE), ScriptedModel([say("Yes.")] * 3)
    async with make_app(tmp_path, model=model, clock=clock) as app:
        await app.jobs.add({**DAILY, "missed": missed, "overlap": "queue", "max_age": 10 * 86400})
    clock.set(NINE + timedelta(days=3, hours=5))
    async with make_app(tmp_path, model=model, clock=clock) as app:
        await app.jobs.scheduler.tick()
        assert await outcomes(app) == found


async def test_a_missed_moment_that_is_too_old_does_not_run(tmp_path):
    clock = at(NINE)
    async with make_app(tmp_path, model=ScriptedModel([]), clock=clock) as app:
        await app.jobs.add({**DAILY, "max_age": 3600})
        clock.set(NINE + timedelta(days=1, hours=2))
        await app.jobs.scheduler.tick()
        assert await outcomes(app) == ["missed"]


async def test_a_clock_that_is_set_back_fires_nothing_twice(tmp_path):
    clock = at(NINE)
    async with make_app(tmp_path, model=ScriptedModel([say("Yes.")] * 9), clock=clock) as app:
        await app.jobs.add({**DAILY, "schedule": "every 1h"})
        for hours in (1, 2, 1, 0, 2, 3):
            clock.set(NINE + timedelta(hours=hours))
            await app.jobs.scheduler.tick()
        found = [view.firing.planned for view in await app.jobs.history(MORNING)]
    assert found == [NINE + timedelta(hours=hours) for hours in (3, 2, 1)]


async def test_a_run_that_has_not_ended_is_not_run_over(tmp_path):
    clock, model = at(NINE), ScriptedModel([call("wait_for_it"), say("Done.")])

    async def wait_for_it() -> str:
        clock.set(NINE + timedelta(days=2))
        await app.jobs.scheduler.tick()
        return "waited"

    async with make_app(
        tmp_path,
        model=model,
        clock=clock,
        toolsets=[hands(wait_for_it)],
        agent__tools__non_interactive_approval_policy="allow",
    ) as app:
        await app.jobs.add(DAILY)
        clock.set(NINE + timedelta(days=1))
        await app.jobs.scheduler.tick()
        [first] = await app.jobs.history(MORNING)
        await app.turns.settled(first.firing.turn_id)
        assert await outcomes(app) == ["overlap", "ran"]


async def test_a_hook_leaves_out_what_arrives_meanwhile_unless_it_is_to_queue(tmp_path):
    words = ForeignWords(source="hook:morning", said="This arrived", text="Hello.")
    model = ScriptedModel([call("wait_for_it"), say("Done.")])

    async def wait_for_it() -> str:
        await app.jobs.scheduler.deliver(app.jobs.owner, MORNING, "hook:2", words)
        return "waited"

    async with make_app(
        tmp_path,
        model=model,
        clock=at(NINE),
        toolsets=[hands(wait_for_it)],
        agent__tools__non_interactive_approval_policy="allow",
    ) as app:
        await app.jobs.add({**DAILY, "schedule": "webhook"})
        first = await app.jobs.scheduler.deliver(app.jobs.owner, MORNING, "hook:1", words)
        await app.turns.settled(first.firing.turn_id)
        assert sorted(await outcomes(app)) == ["overlap", "ran"]


async def test_after_a_model_that_did_not_answer_it_is_asked_again_later_and_later(tmp_path):
    clock, model = at(NINE), ScriptedModel([fail(401), fail(401), say("Again.")])
    async with make_app(tmp_path, model=model, clock=clock, agent__model__retries=0) as app:
        await app.jobs.add({**DAILY, "schedule": "every 1m"})
        for minute in range(1, 10):
            clock.set(NINE + timedelta(minutes=minute))
            await app.jobs.scheduler.tick()
            if (await app.jobs.history(MORNING))[0].firing.turn_id is not None:
                await ended(app)
        assert (await outcomes(app))[::-1] == ["ran", "ran", *["blocked"] * 4, *["ran"] * 3]
        blocked = (await app.jobs.history(MORNING))[4].firing
        assert blocked.note == "no model answered at 09:02 UTC, and none is asked for 5 minutes"
        assert len(model.requests) == 5


async def test_who_asks_for_a_run_does_not_wait_for_the_model_to_be_well_again(tmp_path):
    model = ScriptedModel([fail(401), say("Again.")])
    async with make_app(tmp_path, model=model, clock=at(NINE), agent__model__retries=0) as app:
        await app.jobs.add({**DAILY, "schedule": "every 1m"})
        for _ in range(2):
            run = await app.jobs.run(MORNING)
            done = await app.turns.settled(run.firing.turn_id)
        assert done.answer == "Again."


async def test_late_runs_begin_apart_also_after_another_death(tmp_path):
    clock, model = at(NINE), ScriptedModel([say("Yes.")] * 6)
    async with make_app(tmp_path, model=model, clock=clock) as app:
        for number in range(6):
            await app.jobs.add({**DAILY, "name": f"Job {number}"})
    clock.set(NINE + timedelta(days=1, hours=2))
    async with make_app(tmp_path, model=model, clock=clock) as app:
        await app.jobs.scheduler.tick()
        found = [(await app.jobs.history(JobId(f"job-{number}")))[0] for number in range(6)]
        held = [(each.firing.begins_at - clock.now()).total_seconds() for each in found]
        assert held == [0, 0, 30, 30, 60, 60]
    async with make_app(tmp_path, model=model, clock=clock) as app:
        for first, seconds in ((0, 0), (2, 30), (4, 30)):
            await clock.advance(seconds)
            for each in found[first : first + 2]:
                await app.turns.settled(each.firing.turn_id)
            done = [(await app.jobs.history(each.firing.job_id))[0].status for each in found]
            assert [str(status) for status in done].count("done") == first + 2


async def test_each_run_of_a_job_for_deep_work_begins_with_a_plan(tmp_path):
    clock, model = at(NINE), ScriptedModel([say("A plan.")] * 9)
    async with make_app(tmp_path, model=model, clock=clock) as app:
        await app.jobs.add({**DAILY, "deep_work": True, "session_mode": "new", "jitter": 60})
        clock.set(NINE + timedelta(days=1))
        await app.jobs.scheduler.tick()
        [view] = await app.jobs.history(MORNING)
        turn = await app.turns.get(view.firing.turn_id)
        assert (turn.mode, turn.work_id is not None) == (Mode.DEEP_WORK, True)
        assert turn.session_id.startswith("job-morning-")
        assert NINE <= view.firing.begins_at - timedelta(days=1) <= NINE + timedelta(seconds=60)


async def test_what_could_not_work_is_blocked_before_anything_is_asked(tmp_path):
    clock, model = at(NINE), ScriptedModel([])
    async with make_app(tmp_path, model=model, clock=clock, budget__day__tokens=0) as app:
        await app.jobs.add(DAILY)
        await app.jobs.add({**DAILY, "name": "Other", "agent": "nobody"})
        clock.set(NINE + timedelta(days=1))
        await app.jobs.scheduler.tick()
        [day] = await app.jobs.history(MORNING)
        [agent] = await app.jobs.history(JobId("other"))
    assert day.firing.outcome is agent.firing.outcome is FiringOutcome.BLOCKED
    assert "tokens" in day.firing.note
    assert "'nobody'" in agent.firing.note
    assert model.requests == []


async def test_three_failures_in_a_row_pause_a_job_until_a_person_looks(tmp_path):
    clock, model = at(NINE), ScriptedModel([fail(401)] * PAUSE_AFTER + [say("Again.")])
    async with make_app(tmp_path, model=model, clock=clock, agent__model__retries=0) as app:
        await app.jobs.add(DAILY)
        for day in range(1, PAUSE_AFTER + 2):
            clock.set(NINE + timedelta(days=day))
            await app.jobs.scheduler.tick()
            if day <= PAUSE_AFTER:
                assert (await ended(app)).status is TurnStatus.FAILED
        view = await app.jobs.get(MORNING)
        assert view.job.state is JobState.PAUSED
        assert "in a row failed" in view.job.note
        assert (await outcomes(app))[0] == "blocked"
        assert (await app.jobs.resume(MORNING)).job.state is JobState.ACTIVE
        clock.set(NINE + timedelta(days=PAUSE_AFTER + 2))
        await app.jobs.scheduler.tick()
        assert (await ended(app)).answer == "Again."


async def test_the_limits_of_a_job_are_those_of_its_run(tmp_path):
    clock, model = at(NINE), ScriptedModel([call("list_tasks"), call("list_tasks"), say("No.")])
    async with make_app(tmp_path, model=model, clock=clock) as app:
        await app.jobs.add({**DAILY, "limits": {"steps": 1}})
        assert (await app.jobs.run(MORNING)).firing.outcome is FiringOutcome.RAN
        assert (await ended(app)).status is TurnStatus.LIMITED


async def test_somebody_may_run_it_now_and_the_same_key_runs_it_once(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("Yes.")]), clock=at(NINE)) as app:
        await app.jobs.add({**DAILY, "schedule": "manual"})
        first, again = [await app.jobs.run(MORNING, key="k") for _ in range(2)]
        assert first.firing.turn_id == again.firing.turn_id is not None
        assert len(await app.jobs.history(MORNING)) == 1


async def test_a_start_runs_what_is_to_run_then(tmp_path):
    for _ in range(2):
        async with make_app(tmp_path, model=ScriptedModel([say("Up.")]), clock=at(NINE)) as app:
            if not await app.jobs.every():
                await app.jobs.add({**DAILY, "schedule": "startup", "overlap": "queue"})
            await app.jobs.scheduler.open()
            assert (await ended(app)).answer == "Up."


async def test_pausing_and_editing_lose_no_moment(tmp_path):
    clock = at(NINE)
    async with make_app(tmp_path, model=ScriptedModel([]), clock=clock) as app:
        await app.jobs.add(DAILY)
        clock.set(NINE + timedelta(days=1))
        await app.jobs.pause(MORNING)
        clock.set(NINE + timedelta(days=5))
        await app.jobs.scheduler.tick()
        assert (await app.jobs.resume(MORNING)).job.next_at == NINE + timedelta(days=6)
        clock.set(NINE + timedelta(days=6))
        edited = await app.jobs.edit(MORNING, {"schedule": "daily 10:00"})
        assert edited.job.next_at == NINE + timedelta(days=6, hours=1)
        found = await app.jobs.history(MORNING)
    assert [(view.firing.planned, view.firing.outcome) for view in found] == [
        (NINE + timedelta(days=6), "skipped"),
        (NINE + timedelta(days=1), "skipped"),
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"schedule": "sometimes"}, "sometimes"),
        ({"zone": "Mars/North"}, "Mars/North"),
        ({"prompt": " "}, "name and a prompt"),
        ({"colour": "red"}, "'colour'"),
        ({"missed": "never"}, "missed"),
        ({"session_mode": "named"}, "No session is named"),
        ({"overlap": "parallel"}, "session each"),
        ({"jitter": 9000}, "jitter"),
        ({"id": "Not Good"}, "Not Good"),
        ({"limits": {"tokens": "many"}}, "limits.tokens"),
        ({"schedule": "watch 10m"}, "could be watched"),
        ({"schedule": "webhook", "watch": "ls"}, "has none"),
        ({"expect_every": 0}, "60 seconds"),
        ({"notify": ["everything"]}, "notify"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_the_reason(tmp_path, wrong, said):
    async with make_app(tmp_path, model=ScriptedModel([]), clock=at(NINE)) as app:
        with pytest.raises(UsageError, match=said):
            await app.jobs.add({**DAILY, **wrong})
        assert await app.jobs.every() == []


async def test_a_job_that_cannot_be_read_any_more_holds_up_no_other(tmp_path):
    clock = at(NINE)
    async with make_app(tmp_path, model=ScriptedModel([say("Yes.")]), clock=clock) as app:
        lost = (await app.jobs.add({**DAILY, "name": "Lost"})).job
        await app.database.write(lambda tx: store.save(tx, replace(lost, zone="Gone/Zone")))
        await app.jobs.add(DAILY)
        clock.set(NINE + timedelta(days=1))
        await app.jobs.scheduler.tick()
        assert (await ended(app)).answer == "Yes."
        found = {view.job.id: view for view in await app.jobs.every()}
        assert found["lost"].job.state is JobState.PAUSED
        assert "Gone/Zone" in found["lost"].job.note
        assert (await app.jobs.edit(lost.id, {"zone": "UTC"})).job.zone == "UTC"


async def test_a_job_is_its_owners_and_its_id_is_taken_once(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([]), clock=at(NINE)) as app:
        await app.jobs.add(DAILY)
        with pytest.raises(Taken):
            await app.jobs.add(DAILY)
        other = app.jobs.of("somebody")
        assert await other.every() == []
        with pytest.raises(NotFound):
            await other.run(MORNING)
        await other.add(DAILY)
        await app.jobs.remove(MORNING)
        assert len(await other.every()) == 1


SEED = [
    {
        "id": "daily-check",
        "name": "Daily status check",
        "schedule": "daily 09:00",
        "prompt": "Check system status and summarize any issues.",
        "session_id": "cron-daily-check",
        "enabled": True,
    }
]


async def test_cron_json_is_read_watched_and_written_back(tmp_path):
    file = tmp_path / "workspace" / "cron.json"
    file.parent.mkdir()
    file.write_text(json.dumps(SEED))
    async with make_app(tmp_path, model=ScriptedModel([]), clock=at(NINE)) as app:
        [view] = await app.jobs.reload()
        assert (view.job.zone, view.job.session_id) == ("UTC", SessionId("cron-daily-check"))
        await app.jobs.pause(JobId("daily-check"))
        assert json.loads(file.read_text()) == [{**SEED[0], "enabled": False}]
        file.write_text(json.dumps([{**SEED[0], "schedule": "every 2h"}, "nonsense"]))
        with pytest.raises(UsageError, match="entry 2"):
            await app.jobs.reload()
        assert "nonsense" in file.read_text()
        file.write_text(json.dumps([{**SEED[0], "schedule": "every 2h"}]))
        [view] = await app.jobs.reload()
        assert (view.job.schedule, view.job.state) == ("every 2h", JobState.ACTIVE)
        file.write_text("[]")
        assert await app.jobs.reload() == []


async def test_what_is_exported_comes_back_the_same(tmp_path):
    full = {
        **DAILY,
        "zone": "Europe/Berlin",
        "limits": {"tokens": 9, "cost": 0.5},
        "jitter": 3.0,
        "missed": "all",
        "agent": "coder",
        "session_mode": "new",
        "overlap": "parallel",
        "watch": "git ls-remote",
        "expect_every": 90_000.0,
        "notify": ["result", "silence"],
    }
    async with make_app(tmp_path / "a", model=ScriptedModel([]), clock=at(NINE)) as app:
        await app.jobs.add(full)
        text = await app.jobs.export()
    async with make_app(tmp_path / "b", model=ScriptedModel([]), clock=at(NINE)) as app:
        await app.jobs.bring_in(text)
        assert await app.jobs.export() == text


async def test_the_model_may_propose_a_job_and_a_person_agrees(tmp_path):
    propose = call("propose_job", name="News", schedule="daily 08:00", prompt="Read the news.")
    model = ScriptedModel([propose, say("Proposed."), say("Here it is."), say("Nothing.")])
    clock = at(NINE)
    async with make_app(tmp_path, model=model, clock=clock) as app:
        turn = await app.turns.start(SessionId("talk"), "Read the news every day at eight.")
        await app.turns.settled(turn.id)
        if questions := await app.turns.open_questions():
            await app.turns.answer(questions[0].id, allowed=True)
            await app.turns.settled(turn.id)
        [view] = await app.jobs.every()
        assert view.job.state is JobState.PROPOSED
        clock.set(NINE + timedelta(days=2))
        await app.jobs.scheduler.tick()
        assert await app.jobs.history(view.job.id) == []
        resumed = await app.jobs.resume(view.job.id)
        clock.set(resumed.job.next_at)
        await app.jobs.scheduler.tick()
        assert (await ended(app, view.job.id)).answer == "Here it is."
        await app.turns.settled((await app.turns.start(SessionId("talk"), "Hello")).id)
    assert "propose_job" in model.tools_offered[0]
    assert not {"propose_job", "list_jobs"} & {*model.tools_offered[2], *model.tools_offered[3]}


async def test_idling_asks_no_model_and_wakes_for_moments_alone(tmp_path):
    clock, model = at(NINE), ScriptedModel([say("Yes.")] * 100)
    async with make_app(tmp_path, model=model, clock=clock) as app:
        for number in range(9):
            await app.jobs.add({**DAILY, "name": f"Idle {number}", "schedule": "manual"})
        await app.jobs.add(DAILY)
        for minutes in range(0, 24 * 60 + 1, 10):
            clock.set(NINE + timedelta(minutes=minutes))
            await app.jobs.scheduler.tick()
        await ended(app)
        assert len(model.requests) == 1
        assert await app.database.read(store.earliest) == NINE + timedelta(days=2)


class DeathError(BaseException):
    """The process is killed here."""


def planned(job, until):
    """What is to be fired, by the definition alone."""
    after = parse_schedule(job.schedule, job.zone).after(job.anchor, job.anchor)
    return list(takewhile(lambda moment: moment <= until, after))


async def test_no_moment_is_lost_or_doubled_by_deaths_and_jumps_of_the_clock(tmp_path):
    chance, clock, high = random.Random(5), at(NINE), NINE
    schedules = ["every 30m", "0 * * * *", "30 2 * * *", "*/20 * * * *", "0 9 * * 1-5"]
    zones = ["UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe"]
    policies = ["skip", "once", "all"]
    async with make_app(
        tmp_path, model=ScriptedModel([]), clock=clock, budget__day__tokens=0
    ) as app:
        made = []
        for number in range(20):
            drawn = {"schedule": schedules, "zone": zones, "missed": policies}
            said = {name: chance.choice(values) for name, values in drawn.items()}
            made.append((await app.jobs.add({**DAILY, "name": f"Job {number}", **said})).job)
        write = app.database.write

        async def dying(work):
            def killed(tx):
                done = work(tx)
                if chance.random() < 0.05:
                    raise DeathError
                return done

            return await write(killed)

        app.jobs.scheduler.database = Dying(app.database, dying)
        for _ in range(150):
            jump = chance.choice([1, 1, 1, 1, 30, -2])
            clock.set(clock.now() + timedelta(minutes=jump * chance.randint(1, 90)))
            high = max(high, clock.now())
            with suppress(DeathError):
                await app.jobs.scheduler.tick()
        app.jobs.scheduler.database = app.database
        clock.set(high)
        await app.jobs.scheduler.tick()
        found = await app.database.read(
            lambda tx: [store.history(tx, job.owner, job.id, limit=100_000) for job in made]
        )
    fired = [[view.firing.planned for view in reversed(views)] for views in found]
    assert fired == [planned(job, high) for job in made]
    assert sum(map(len, fired)) > 2_000


class Dying:
    """A database whose process dies in some transactions."""

    def __init__(self, database, write):
        self.read, self.write = database.read, write
