"""Kills a process that remembers, forgets and embeds, and looks whether anything is missing.

As in chaos.py, a zygote forks one child per life. Each child does what a seeded die says and writes
down before and after each operation; its parent compares that diary with the database.
Run it by hand for a longer time: ``python -m tests.e2e.memory_chaos --random 500``.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from tests.e2e.chaos import QUICK, Countdown, Point, append, lines, wait_for, watch_database
from tests.e2e.diary import Diary
from tests.e2e.memory_examination import findings
from tests.embedder import FakeEmbedder

from long_running_agents.config import load
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    MemoryDraft,
    MemoryId,
    MemoryKind,
    Query,
    Selection,
    Viewer,
)
from long_running_agents.errors import UsageError
from long_running_agents.memory.service import MemoryService
from long_running_agents.store import schema
from long_running_agents.store.schema import open_database
from long_running_agents.testing import FrozenClock

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
OWNER = "me"
SPACES = ("fake:one", "fake:two")
QUESTIONS = ("heron by the mill", "the lake at nine", "frogs", "who said what about the bridge?")
WORDS = ("heron", "mill", "lake", "frogs", "bridge", "nine", "reeds", "moon")
LIFE = 25
"""Operations of one life, if it lasts so long."""


@dataclass
class Patient(Countdown):
    """Ends the process at its point, unless it only looks at what is there."""

    looking: bool = False

    def at(self, kind):
        if not self.looking:
            super().at(kind)


class Embedder(FakeEmbedder):
    """A space of its own, and a point to die at."""

    def __init__(self, space, countdown):
        super().__init__(space=space)
        self.countdown = countdown

    async def documents(self, texts):
        self.countdown.at("embedding")
        vectors = await super().documents(texts)
        self.countdown.at("embedded")
        return vectors[:, ::-1] if self.space == SPACES[1] else vectors


def watch(countdown):
    """Points around transactions, and within statements: every few hundred steps of SQLite."""
    install = watch_database(countdown)

    def prepare(engine):
        install(engine)

        def connected(connection, _):
            connection.set_progress_handler(lambda: countdown.at("step of SQLite"), 200)

        sa.event.listen(engine, "connect", connected)

    return prepare


def open_home(home, countdown):
    """The database, watched from its first statement after the schema is there."""
    prepare = schema.prepare

    def prepare_then_watch(engine, *args, **options):
        prepare(engine, *args, **options)
        engine.dispose()
        watch(countdown)(engine)

    schema.prepare = prepare_then_watch
    return open_database(load(home=home, environ=QUICK), FrozenClock(NOON))


class Life:
    """What one process does until it is killed."""

    def __init__(self, home, database, countdown, rng):
        self.home = home
        self.database = database
        self.countdown = countdown
        self.rng = rng
        self.diary = Diary(lines(home / "diary"))
        self.memories = self.with_embedder(self.diary.space or SPACES[0])

    def with_embedder(self, space):
        return MemoryService(self.database, Embedder(space, self.countdown), FrozenClock(NOON))

    def note(self, *words):
        append(self.home / "diary", *words)
        self.diary.read(list(words))

    async def live(self):
        for number in range(LIFE):
            deed = self.rng.choices(
                [
                    self.write,
                    self.talk,
                    self.correct,
                    self.forget,
                    self.undo,
                    self.reindex,
                    self.move,
                ],
                [6, 4, 2, 3, 3, 1, 2],
            )[0]
            await deed()
            if number % 5 == 0:
                await self.compare()

    async def write(self):
        parents = self.some(2) if self.rng.random() < 0.5 else []
        token = self.token()
        self.note("begin", "write", {"tokens": [token], "parents": parents})
        draft = MemoryDraft(content=self.sentence(token), derived_from=tuple(parents))
        written = await self.memories.write(Viewer(owner=OWNER), draft, keep_both=True)
        self.note("done", "write", [written.memory.id])

    async def talk(self):
        tokens = [self.token(place) for place in range(self.rng.randint(1, 4))]
        session = SessionId(f"s{self.rng.randint(1, 3)}")
        self.note("begin", "talk", {"tokens": tokens, "parents": []})
        drafts = [
            MemoryDraft(
                content=self.sentence(token), kind=MemoryKind.CONVERSATION, session_id=session
            )
            for token in tokens
        ]
        made = await self.memories.write_many(OWNER, drafts)
        self.note("done", "talk", [memory.id for memory in made])

    async def correct(self):
        if not (current := self.diary.current()):
            return
        old, token = self.rng.choice(current), self.token()
        self.note("begin", "correct", {"tokens": [token], "parents": [], "old": old})
        draft = MemoryDraft(content=self.sentence(token))
        written = await self.memories.write(Viewer(owner=OWNER), draft, supersedes=old)
        self.note("done", "correct", [written.memory.id])

    async def forget(self):
        if not (chosen := self.some(2)):
            return
        at_once = self.rng.random() < 0.3
        self.note("begin", "forget", {"ids": chosen, "at_once": at_once})
        selection = Selection(ids=frozenset(MemoryId(number) for number in chosen))
        gone = await self.memories.forget(OWNER, selection, at_once=at_once)
        self.note("done", "forget", {"ids": [m.id for m in gone.memories], "batch": gone.batch})

    async def undo(self):
        if not self.diary.trash:
            return
        batch = self.rng.choice(sorted(self.diary.trash))
        self.note("begin", "undo", {"batch": batch})
        try:
            back = [memory.id for memory in await self.memories.undo(OWNER, batch)]
        except UsageError:
            # It was derived from something that lies in the trash itself.
            back = []
        self.note("done", "undo", {"ids": back, "batch": batch})

    async def reindex(self):
        self.note("begin", "reindex", {})
        await self.memories.reindex()
        self.note("done", "reindex", {})

    async def move(self):
        """Change the embedder."""
        space = self.rng.choice(SPACES)
        self.memories = self.with_embedder(space)
        self.note("begin", "move", {"space": space})
        trouble = await self.memories.refill()
        self.note("done", "move", {"space": space})
        if trouble:
            append(self.home / "broken", f"filling failed: {trouble}")

    async def compare(self):
        """The search that has followed every change finds what one finds that begins anew."""
        self.countdown.looking = True
        live = await asked(self.memories)
        fresh = await asked(self.with_embedder(self.memories.embedder.space))
        self.countdown.looking = False
        if live != fresh:
            append(self.home / "broken", f"the live shelf differs: {different(live, fresh)}")

    def some(self, most):
        live = sorted(self.diary.live)
        return self.rng.sample(live, min(len(live), self.rng.randint(1, most)))

    def token(self, place=0):
        return f"t{len(self.diary.lines)}x{place}y{os.getpid()}"

    def sentence(self, token):
        return f"{token} tells of {' and '.join(self.rng.sample(WORDS, 3))}"


async def asked(memories):
    """What searches bring up, and why."""
    return [
        (
            question,
            fusion,
            found.degraded,
            [(hit.memory.id, hit.score, dict(hit.why)) for hit in found.hits],
        )
        for question in QUESTIONS
        for fusion in ("weights", "rrf")
        for found in [
            await memories.find(Viewer(owner=OWNER), Query(text=question, limit=40, fusion=fusion))
        ]
    ]


def different(one, other):
    return next((pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]), None)


async def be(home, countdown, seed):
    async with open_home(home, countdown) as database:
        await Life(home, database, countdown, random.Random(seed)).live()


async def search_everywhere(home):
    """Compare what is found after a death, after filling, in a fresh process and a new index."""
    async with open_home(home, Patient(None)) as database:
        life = Life(home, database, Patient(None), random.Random(1))
        await life.compare()
        await life.memories.refill()
        live = await asked(life.memories)
        fresh = await asked(life.with_embedder(life.memories.embedder.space))
        await life.memories.reindex()
        after = await asked(life.memories)
        anew = await asked(life.with_embedder(life.memories.embedder.space))
        for name, found in (("fresh", fresh), ("reindexed", after), ("made anew", anew)):
            if found != live:
                append(home / "broken", f"the {name} search differs: {different(live, found)}")
        if any(degraded for _, _, degraded, _ in live):
            append(home / "broken", "the search is degraded after filling")


def fork(home, work):
    """Begin some work in a child process."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        asyncio.run(work())
        code = 0
    except BaseException as error:  # noqa: BLE001 - told to the parent by a file
        append(home / "broken", repr(error))
    os._exit(code)


@dataclass
class Report:
    """What became of all the homes."""

    homes: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    cut_off: Counter[str] = field(default_factory=Counter)
    memories: int = 0
    problems: list[str] = field(default_factory=list)

    def as_json(self):
        return json.dumps(
            {
                "homes": self.homes,
                "kills": sum(self.kills.values()),
                "by_kind": dict(self.kills),
                "deeds": dict(self.deeds),
                "cut_off": dict(self.cut_off),
                "memories": self.memories,
                "problems": self.problems,
            }
        )


def examine(home, name, report):
    """Compare the diary with the database, end what was cut off, and search."""
    diary = Diary(lines(home / "diary"))
    if diary.open is not None:
        report.cut_off[diary.open[0]] += 1
    problems, ending = findings(home / "lra.db", diary)
    if ending is not None:
        append(home / "diary", *ending)
    if wait_for(fork(home, lambda: search_everywhere(home)), 60) != 0:
        problems.append("the search after it did not end well")
    problems += [str(words) for words in lines(home / "broken")]
    report.problems += [f"{name}: {problem}" for problem in problems]
    return not problems


def one_home(template, points, rng, report):
    """Let one home live through deaths, and look at it after each."""
    home = Path(tempfile.mkdtemp(prefix="lra-memory-chaos-"))
    shutil.copytree(template, home, dirs_exist_ok=True)
    for point in points:
        seed = rng.random()
        countdown = Patient(point)
        child = fork(home, lambda countdown=countdown, seed=seed: be(home, countdown, seed))
        if point is None and wait_for(child, rng.uniform(0.02, 0.3)) is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            report.kills["random moment"] += 1
        elif point is not None and os.WIFSIGNALED(wait_for(child, None)):
            report.kills[point.kind] += 1
        if not examine(home, str(point or "random"), report):
            break
    report.homes += 1
    diary = Diary(lines(home / "diary"))
    report.deeds.update(diary.deeds)
    report.memories += len(diary.live)
    shutil.rmtree(home, ignore_errors=True)


def targeted():
    """Points of all kinds, each home dying at several of them in a row."""
    ends = {
        "before a transaction": (2, 7, 16, 29),
        "before a commit": (1, 4, 9, 15, 22),
        "after a commit": (2, 8, 17, 30),
        "statement": (9, 30, 61, 100),
        "step of SQLite": (3, 10, 25, 48, 75, 110),
        "embedding": (1, 3, 6, 9),
        "embedded": (1, 2, 5, 8),
    }
    points = [Point(kind, number) for kind, numbers in ends.items() for number in numbers]
    random.Random(3).shuffle(points)
    return [points[start : start + 6] for start in range(0, len(points), 6)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=40, help="deaths at random moments")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder)
        # A schema is made once; dying while it is made is the story of chaos.py.
        wait_for(fork(template, lambda: search_everywhere(template)), None)
        for points in targeted():
            one_home(template, points, rng, report)
        for start in range(0, options.random, 8):
            one_home(template, [None] * min(8, options.random - start), rng, report)
    sys.stdout.write(report.as_json() + "\n")


if __name__ == "__main__":
    main()
