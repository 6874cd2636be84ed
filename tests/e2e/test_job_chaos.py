"""Kill -9 of a real server with jobs due: every planned moment has one firing and one turn."""

import asyncio
import random
import subprocess
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile

import pytest
from pydantic_ai.models import override_allow_model_requests
from tests.e2e.served import environment, served
from tests.scripted_process import scripted_process

from long_running_agents.app import open_app
from long_running_agents.clock import SystemClock
from long_running_agents.config import load
from long_running_agents.domain.schedule import parse_schedule
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.store import jobs as store
from long_running_agents.testing import Rule, Script, say

SCRIPT = Script((Rule("", (say("Done with it.", chunk_delay=0.001),)),))
JOBS = 3
QUIET = {"LRA_MEMORY__ENABLED": "false", "LRA_AGENT__MODEL__PROBE": "[]"}
BEFORE = timedelta(minutes=15)


async def prepare(home, environ):
    """Jobs whose last quarter of an hour nobody has seen yet."""
    async with open_app(load(home=home, environ=environ)) as app:
        for number in range(JOBS):
            said = {"name": f"Job {number}", "schedule": "every 1m", "prompt": f"Do {number}."}
            policy = {"missed": "all", "overlap": "queue", "max_age": 86_400.0, "zone": "UTC"}
            job = (await app.jobs.add({**said, **policy})).job
            begun = job.anchor - BEFORE
            old = replace(job, anchor=begun, cursor=begun, next_at=begun + timedelta(minutes=1))
            await app.database.write(lambda tx, old=old: store.save(tx, old))


def killed(home, url, seconds):
    """One life of `lra serve`, so many seconds after it listens."""
    with served(home, url, **QUIET) as server:
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(seconds)
        server.kill()


class Later(SystemClock):
    """When late runs, which begin apart, have all had their time to begin."""

    def now(self):
        return super().now() + BEFORE


async def examined(home, environ):
    """A life that nobody ends: what was planned in all of them, and what became of it."""
    loaded = load(home=home, environ=environ)
    async with open_app(loaded) as app:
        await app.jobs.scheduler.tick()
    with override_allow_model_requests(allow_model_requests=True):
        async with open_app(loaded, clock=Later()) as app:
            for turn in await app.turns.unfinished():
                await app.turns.settled(turn.id)
            for view in await app.jobs.every():
                job = view.job
                after = parse_schedule(job.schedule, job.zone).after(job.anchor, job.anchor)
                planned = list(takewhile(lambda moment, job=job: moment <= job.cursor, after))
                fired = await app.jobs.history(job.id, limit=1000)
                yield planned, list(reversed(fired))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.heavy)])
def test_no_death_loses_or_doubles_a_planned_moment(tmp_path, kills):
    chance = random.Random(kills)

    async def story(url):
        lives = 0
        while lives < kills:
            home = tmp_path / f"home{lives}"
            environ = environment(home, url, **QUIET)
            await prepare(home, environ)
            for _ in range(min(8, kills - lives)):
                await asyncio.to_thread(killed, home, url, chance.random())
                lives += 1
            async for planned, fired in examined(home, environ):
                assert [view.firing.planned for view in fired] == planned
                assert len(planned) >= BEFORE.seconds // 60
                turns = [view.firing.turn_id for view in fired]
                assert None not in turns
                assert len(set(turns)) == len(turns)
                assert {view.status for view in fired} == {TurnStatus.DONE}

    with scripted_process(SCRIPT) as url:
        asyncio.run(story(url))
