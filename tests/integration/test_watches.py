"""Watches: no model is asked unless what a job looks at has changed."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from tests.integration.test_jobs import DAILY, DeathError, Dying, ended, outcomes

from long_running_agents.domain.job import FiringOutcome, JobId
from long_running_agents.errors import SandboxUnavailable, UsageError
from long_running_agents.jobs.watch import Watcher, difference
from long_running_agents.sandbox.base import ExecResult
from long_running_agents.store import jobs as store
from long_running_agents.store import taints
from long_running_agents.testing import FrozenClock, ScriptedModel, make_app, say

pytestmark = pytest.mark.anyio

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)
WATCH = {**DAILY, "name": "Watch", "schedule": "watch 10m", "watch": "git ls-remote"}
ID = JobId("watch")


class Machine:
    """An owner's sandboxes and web, which show what the test has laid out."""

    def __init__(self, shown="one\n", walls=("a wall",)):
        self.shown, self.looks, self.isolation = shown, 0, walls
        self.sandboxes, self.begun = SimpleNamespace(lent=self.lent), asyncio.Event()

    @asynccontextmanager
    async def lent(self, borrower):
        if isinstance(self.shown, Exception):
            raise self.shown
        yield SimpleNamespace(isolation=self.isolation, shell=self.shell)

    async def shell(self, command, seconds):
        self.looks += 1
        self.begun.set()
        if isinstance(self.shown, asyncio.Event):
            await self.shown.wait()
        return self.shown if isinstance(self.shown, ExecResult) else ExecResult(stdout=self.shown)

    def web(self):
        return self

    async def fetch(self, address):
        self.looks += 1
        return SimpleNamespace(text=self.shown, status=200 if self.shown else 503)


@asynccontextmanager
async def watching(home, *replies, clock=None, machine=None, **settings):
    """An open home whose jobs look at a machine of the test's."""
    model, machine = ScriptedModel(list(replies)), machine or Machine()
    clock = clock or FrozenClock(NINE)
    async with make_app(home, model=model, clock=clock, **settings) as app:
        app.jobs.scheduler.watcher = Watcher(lambda _: machine, patience=0.2)

        async def later(minutes=10):
            clock.set(clock.now() + timedelta(minutes=minutes))
            await app.jobs.scheduler.tick()

        yield SimpleNamespace(app=app, model=model, machine=machine, later=later, clock=clock)


async def test_the_agent_is_woken_only_by_a_change_and_shown_the_difference(tmp_path):
    async with watching(tmp_path, say("Noted.")) as at:
        await at.app.jobs.add(WATCH)
        await at.later()
        await at.later()
        assert (await outcomes(at.app, ID), at.model.requests) == (["skipped"] * 2, [])
        at.machine.shown = "one\ntwo\n"
        await at.later()
        run = await ended(at.app, ID)
        await at.later()
        found = [view.firing for view in await at.app.jobs.history(ID)]
        read = await at.app.database.read(lambda tx: taints.sources(tx, run.firing.session_id))
        words = await at.app.database.read(lambda tx: taints.words(tx, run.firing.session_id))

    assert [each.outcome for each in found] == ["skipped", "changed", "skipped", "skipped"]
    assert [each.note for each in found[2:]] == [
        "nothing had changed",
        "the first look, with nothing to compare",
    ]
    assert run.answer == "Noted."
    assert "> +two" in str(at.model.requests[0])
    assert read == ("watch:watch",)
    assert any("+two" in text for _, text in words.told)
    assert (at.machine.looks, len(at.model.requests)) == (4, 1)


async def test_an_address_is_watched_like_a_command_and_a_refusal_of_it_blocks(tmp_path):
    async with watching(tmp_path, say("Noted.")) as at:
        await at.app.jobs.add({**WATCH, "watch": "https://example.org/", "schedule": "every 1h"})
        for shown in ("old", "new", ""):
            at.machine.shown = shown
            await at.later(60)
            if shown == "new":
                await ended(at.app, ID)
        [blocked, *_] = await at.app.jobs.history(ID)
        assert await outcomes(at.app, ID) == ["blocked", "changed", "skipped"]
    assert "answered 503" in blocked.firing.note


@pytest.mark.parametrize(
    ("shown", "walls", "why"),
    [
        (SandboxUnavailable("None.", hint="Install bwrap."), ("a wall",), "Install bwrap."),
        ("one", (), "without a sandbox"),
        (ExecResult(exit_code=128, stderr="fatal: no such host"), ("a wall",), "128: fatal: no"),
        (asyncio.Event(), ("a wall",), "more than 0.2 seconds"),
    ],
)
async def test_a_look_that_fails_is_blocked_with_the_reason(tmp_path, shown, walls, why):
    async with watching(tmp_path, machine=Machine(shown, walls)) as at:
        await at.app.jobs.add(WATCH)
        await at.later()
        [view] = await at.app.jobs.history(ID)
    assert (view.firing.outcome, at.model.requests) == (FiringOutcome.BLOCKED, [])
    assert why in view.firing.note


async def test_a_look_that_hangs_holds_up_no_other_job(tmp_path):
    machine = Machine(asyncio.Event())
    async with watching(tmp_path, say("Yes."), machine=machine) as at:
        scheduler = at.app.jobs.scheduler
        scheduler.watcher = Watcher(lambda _: machine)
        await at.app.jobs.add({**WATCH, "schedule": "watch"})
        await at.app.jobs.add({**DAILY, "schedule": "every 10m"})
        await scheduler.open()
        at.clock.set(NINE + timedelta(minutes=5))
        hanging = asyncio.create_task(scheduler.tick())
        await machine.begun.wait()
        at.clock.set(NINE + timedelta(minutes=10))
        other = asyncio.create_task(scheduler.tick())
        while not await at.app.jobs.history(JobId("morning")):
            pass
        assert (await ended(at.app)).answer == "Yes."
        assert (await at.app.jobs.history(ID), machine.looks) == ([], 1)
        machine.shown.set()
        machine.shown = "one"
        await asyncio.gather(hanging, other)
        await scheduler.tick()
        assert await outcomes(at.app, ID) == ["skipped", "skipped"]


async def test_what_could_not_run_is_seen_again(tmp_path):
    async with watching(tmp_path, budget__day__tokens=0) as at:
        await at.app.jobs.add(WATCH)
        for shown in ("one", "two", "two"):
            at.machine.shown = shown
            await at.later()
        assert await outcomes(at.app, ID) == ["blocked", "blocked", "skipped"]


async def test_a_death_between_look_and_row_loses_and_doubles_nothing(tmp_path):
    async with watching(tmp_path, say("Noted.")) as at:
        await at.app.jobs.add(WATCH)
        await at.later()
        at.machine.shown = "two"
        scheduler, alive = at.app.jobs.scheduler, at.app.database

        async def dying(work):
            def killed(tx):
                work(tx)
                raise DeathError

            return await alive.write(killed)

        scheduler.database = Dying(alive, dying)
        await at.later()
        assert await outcomes(at.app, ID) == ["skipped"]
        scheduler.database = alive
        await scheduler.tick()
        await ended(at.app, ID)
        await at.later()
        assert await outcomes(at.app, ID) == ["skipped", "changed", "skipped"]


async def test_another_thing_to_watch_begins_with_a_first_look(tmp_path):
    async with watching(tmp_path) as at:
        await at.app.jobs.add(WATCH)
        await at.later()
        await at.app.jobs.edit(ID, {"watch": "ls"})
        at.machine.shown = "other"
        await at.later()
        assert await outcomes(at.app, ID) == ["skipped", "skipped"]
        with pytest.raises(UsageError, match="could be watched"):
            await at.app.jobs.edit(ID, {"watch": ""})
        with pytest.raises(UsageError, match="has none"):
            await at.app.jobs.edit(ID, {"schedule": "startup"})


async def test_somebody_who_runs_it_has_it_look(tmp_path):
    async with watching(tmp_path, say("Noted.")) as at:
        await at.app.jobs.add({**WATCH, "schedule": "manual"})
        first = await at.app.jobs.run(ID)
        at.machine.shown = "two"
        second = await at.app.jobs.run(ID)
        await at.app.turns.settled(second.firing.turn_id)
    assert [first.firing.outcome, second.firing.outcome] == ["skipped", "changed"]


async def test_a_day_of_ten_idle_jobs_of_which_one_watches_asks_no_model_but_what_is_due(tmp_path):
    async with watching(tmp_path, say("Yes.")) as at:
        for number in range(8):
            await at.app.jobs.add({**DAILY, "name": f"Idle {number}", "schedule": "manual"})
        await at.app.jobs.add(DAILY)
        await at.app.jobs.add(WATCH)
        for _ in range(6 * 24):
            await at.later()
        await ended(at.app)
        assert len(at.model.requests) == 1
        assert at.machine.looks == 6 * 24
        assert set(await outcomes(at.app, ID)) == {"skipped"}
        assert await at.app.database.read(store.earliest) == at.clock.now() + timedelta(minutes=10)


def test_a_difference_has_what_is_around_it_and_stays_small():
    lines = [f"line {number}" for number in range(2_000)]
    shown = difference("\n".join(lines), "\n".join([*lines[:1_500], "new", *lines[1_500:]]))
    assert shown.splitlines() == [
        "--- before", "+++ now", "@@", *(f" line {number}" for number in (1497, 1498, 1499)),
        "+new", *(f" line {number}" for number in (1500, 1501, 1502)),
        *shown.splitlines()[10:],
    ]  # fmt: skip
    assert len(difference("\n".join("ab" * 9_000), "\n".join("ba" * 9_000))) < 20_000
