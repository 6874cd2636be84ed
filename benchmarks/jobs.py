"""Simulates the scheduler: `python -m benchmarks.jobs [--moments N] [--restarts N]`.

Jobs of every kind and zone, a clock that jumps, transactions that die, two processes that tick on
the same database, starts just when a moment is planned. What was fired is compared with what the
schedules say. Then: what a thousand jobs cost a process in which nothing is due.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count, takewhile
from pathlib import Path

from long_running_agents.domain.schedule import parse_schedule
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.store import jobs as store
from long_running_agents.testing import FrozenClock, ScriptedModel, make_app, say

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCHEDULES = (
    "* * * * *",
    "every 5m",
    "every 1h",
    "*/5 * * * *",
    "30 2 * * *",
    "0 9 * * 1-5",
    "0 * * * *",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana")
DEATH = 0.004
KILLED = 9
LOOK = 20.0


class DeathError(BaseException):
    """The process is killed here."""


def raise_death():
    raise DeathError


class Dying:
    """A database whose process dies in some transactions."""

    def __init__(self, database, chance, die=raise_death):
        self.read, self._write, self._chance = database.read, database.write, chance
        self._die = die
        self.deaths = 0

    async def write(self, work):
        def killed(tx):
            done = work(tx)
            if self._chance.random() < DEATH:
                self.deaths += 1
                self._die()
            return done

        return await self._write(killed)


async def add_jobs(app, count, chance):
    made = []
    for number in range(count):
        said = {"name": f"Job {number}", "prompt": "Go.", "schedule": chance.choice(SCHEDULES)}
        more = {"zone": chance.choice(ZONES), "missed": chance.choice(("skip", "once", "all"))}
        age = {"max_age": chance.choice((600.0, 7200.0, 259_200.0))}
        made.append((await app.jobs.add({**said, **more, **age})).job)
    return made


async def simulated(app, clock, until, chance):
    """Tick until a moment; the latest moment there was, and what happened on the way."""
    dying, high, ticks, jumps = Dying(app.database, chance), clock.now(), 0, 0
    app.jobs.scheduler.database = dying
    while high < until:
        drawn = chance.random()
        step = chance.randint(20, 400) if drawn < 0.98 else chance.randint(3600, 345_600)
        jumps += drawn >= 0.98
        clock.set(clock.now() + timedelta(seconds=-step // 60 if drawn > 0.99 else step))
        high, ticks = max(high, clock.now()), ticks + 1
        with suppress(DeathError):
            await app.jobs.scheduler.tick()
    app.jobs.scheduler.database = app.database
    clock.set(high)
    await app.jobs.scheduler.tick()
    return high, {"ticks": ticks, "deaths": dying.deaths, "jumps of the clock": jumps}


def until(made, most):
    """The moment by which so many moments of all jobs were planned, about."""
    sample = BEGIN + timedelta(days=7)
    a_week = sum(len(planned(job, sample)) for job in made)
    return BEGIN + most / a_week * timedelta(days=7)


def planned(job, high):
    after = parse_schedule(job.schedule, job.zone).after(job.anchor, job.anchor)
    return set(takewhile(lambda moment: moment <= high, after))


async def compared(app, made, high):
    """How many moments were planned, lost, and fired although nobody planned them, or twice."""
    total = lost = extra = 0
    for job in made:
        wanted = planned(job, high)
        fired = await app.database.read(
            lambda tx, job=job: store.history(tx, job.owner, job.id, limit=10**9)
        )
        found = [view.firing.planned for view in fired]
        total, lost = total + len(wanted), lost + len(wanted - set(found))
        extra += len(found) - len(set(found) & wanted)
    return {"planned": total, "lost": lost, "unplanned or doubled": extra}


def opened(folder, clock, database=None, answers=()):
    url = {} if database is None else {"storage__database_url": f"sqlite:///{database}"}
    settings = {"storage__synchronous": "NORMAL", **url}
    if not answers:
        # No run is begun, so that what is measured is the scheduler.
        settings["budget__day__tokens"] = 0
    return make_app(folder, model=ScriptedModel(answers), clock=clock, **settings)


async def alone(most):
    """One process, whose transactions die and whose clock jumps."""
    chance, clock = random.Random(5), FrozenClock(BEGIN)
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder), clock) as app:
            made = await add_jobs(app, 60, chance)
            high, told = await simulated(app, clock, until(made, most), chance)
            return told | await compared(app, made, high)


async def rival(folder, database, seed, end):
    """One of two processes that tick on the same database, each by a clock of its own."""
    chance, clock = random.Random(seed), FrozenClock(BEGIN)
    async with opened(Path(folder), clock, database) as app:
        # A life begins an hour before the first moment that has no firing.
        clock.set(min(view.job.cursor for view in await app.jobs.every()) - timedelta(hours=1))
        dying = Dying(app.database, chance, die=lambda: os._exit(KILLED))
        app.jobs.scheduler.database = dying
        while clock.now() < end:
            clock.set(min(end, clock.now() + timedelta(seconds=chance.randint(20, 4000))))
            await app.jobs.scheduler.tick()


async def rivals(most):
    """Two processes on one database, each begun again wherever it dies."""
    with tempfile.TemporaryDirectory() as folder:
        home, database, clock = (
            Path(folder) / "home",
            Path(folder) / "shared.db",
            FrozenClock(BEGIN),
        )
        async with opened(home, clock, database) as app:
            made = await add_jobs(app, 60, random.Random(6))
        end = until(made, most)

        async def run(name):
            for deaths in count():
                given = (f"{folder}/{name}", str(database), f"{name}{deaths}", end.isoformat())
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "benchmarks.jobs", "--rival", *given
                )
                ended = await process.wait()
                if ended == 0:
                    return deaths
                if ended != KILLED:
                    raise SystemExit(f"a process that ticks ended with {ended}")
            return 0

        deaths = await asyncio.gather(run("a"), run("b"))
        async with opened(home, clock, database) as app:
            return {"deaths of processes": sum(deaths)} | await compared(app, made, end)


async def restarts(times):
    """The program starts just when a moment is planned, again and again."""
    clock = FrozenClock(BEGIN)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times + 1):
            answers = [say("Done.")] * 2
            async with opened(Path(folder), clock, answers=answers) as app:
                if number == 0:
                    said = {"name": "Each", "prompt": "Go.", "schedule": "*/5 * * * *"}
                    job = (await app.jobs.add({**said, "zone": "Europe/Berlin"})).job
                await app.jobs.scheduler.open()
                for turn in await app.turns.unfinished():
                    await app.turns.settled(turn.id)
                high = clock.now()
                view = await app.jobs.get(job.id)
                clock.set(view.job.next_at)
        async with opened(Path(folder), clock) as app:
            told = await compared(app, [job], high)
            fired = await app.jobs.history(job.id, limit=10**6)
            turns = {view.firing.turn_id for view in fired if view.status is TurnStatus.DONE}
            return {"restarts": times, "turns done": len(turns)} | told


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=100_000)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--rival", nargs=4, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.rival:
        folder, database, seed, end = wanted.rival
        await rival(folder, database, seed, datetime.fromisoformat(end))
        return 0
    wrong = 0
    for title, told in (
        ("One process", await alone(wanted.moments)),
        ("Two processes", await rivals(wanted.moments // 5)),
        ("Starts at a planned second", await restarts(wanted.restarts)),
    ):
        print(title, *(f"  {name:22} {value:>10}" for name, value in told.items()), sep="\n")
        wrong += told["lost"] + told["unplanned or doubled"]
    print(f"Idle, 1,000 jobs: {await idle():.2f} % CPU over {LOOK:g} s")
    return 1 if wrong else 0


async def idle():
    """How busy a process is with a thousand jobs of which none is due."""
    with tempfile.TemporaryDirectory() as folder:
        async with make_app(Path(folder), model=ScriptedModel([])) as app:
            for number in range(1000):
                said = {"name": f"Job {number}", "prompt": "Go.", "schedule": "@yearly"}
                await app.jobs.add({**said, "zone": "UTC"})
            await app.jobs.scheduler.open()
            begun = time.process_time()
            await asyncio.sleep(LOOK)
            return (time.process_time() - begun) / LOOK * 100


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
