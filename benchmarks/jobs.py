"""Simulates the scheduler: `python -m benchmarks.jobs [--moments N]`.

Jobs of every kind and zone, a clock that jumps, transactions that die, two schedulers that tick one
after the other on the same file. What was fired is compared with what the schedules say, from the
beginning. Then: what a thousand jobs cost a process in which nothing is due.
"""

import argparse
import asyncio
import random
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path

from long_running_agents.domain.schedule import parse_schedule
from long_running_agents.store import jobs as store
from long_running_agents.testing import FrozenClock, ScriptedModel, make_app

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCHEDULES = ("every 5m", "every 1h", "*/5 * * * *", "30 2 * * *", "0 9 * * 1-5", "0 * * * *")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana")
DEATH = 0.004
LOOK = 20.0


class DeathError(BaseException):
    """The process is killed here."""


class Dying:
    """A database whose process dies in some transactions."""

    def __init__(self, database, chance):
        self.read, self._write, self._chance = database.read, database.write, chance
        self.deaths = 0

    async def write(self, work):
        def killed(tx):
            done = work(tx)
            if self._chance.random() < DEATH:
                self.deaths += 1
                raise DeathError
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


async def simulated(app, clock, made, most, chance):
    """Tick until so many moments were planned; the latest moment, and what happened on the way."""
    dying, high, ticks, jumps = Dying(app.database, chance), BEGIN, 0, 0
    app.jobs.scheduler.database = dying
    while True:
        drawn = chance.random()
        step = chance.randint(20, 400) if drawn < 0.98 else chance.randint(3600, 345_600)
        jumps += drawn >= 0.98
        clock.set(clock.now() + timedelta(seconds=-step // 60 if drawn > 0.99 else step))
        high, ticks = max(high, clock.now()), ticks + 1
        with suppress(DeathError):
            await app.jobs.scheduler.tick()
        if ticks % 200 == 0 and await count(app, made) >= most:
            break
    app.jobs.scheduler.database = app.database
    clock.set(high)
    await app.jobs.scheduler.tick()
    return high, {"ticks": ticks, "deaths": dying.deaths, "jumps of the clock": jumps}


async def count(app, made):
    def work(tx):
        return sum(len(store.history(tx, job.owner, job.id, limit=10**9)) for job in made[:3])

    return await app.database.read(work) * len(made) // 3


async def compared(app, made, high):
    """How many moments were planned, lost, and fired although nobody planned them, or twice."""
    total = lost = extra = 0
    for job in made:
        after = parse_schedule(job.schedule, job.zone).after(job.anchor, job.anchor)
        wanted = set(takewhile(lambda moment: moment <= high, after))
        fired = await app.database.read(
            lambda tx, job=job: store.history(tx, job.owner, job.id, limit=10**9)
        )
        found = [view.firing.planned for view in fired]
        total, lost = total + len(wanted), lost + len(wanted - set(found))
        extra += len(found) - len(set(found) & wanted)
    return {"planned": total, "lost": lost, "unplanned or doubled": extra}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=100_000)
    wanted = parser.parse_args()
    chance, clock = random.Random(5), FrozenClock(BEGIN)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"budget__day__tokens": 0, "storage__synchronous": "NORMAL"}
        model = ScriptedModel([])
        async with make_app(Path(folder), model=model, clock=clock, **settings) as app:
            made = await add_jobs(app, 60, chance)
            high, told = await simulated(app, clock, made, wanted.moments, chance)
            told |= await compared(app, made, high)
    for name, value in told.items():
        print(f"{name:22} {value:>10}")
    print(f"{'idle, 1,000 jobs':22} {await idle():>9.2f} % CPU over {LOOK:g} s")
    return 1 if told["lost"] or told["unplanned or doubled"] else 0


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
