"""A damaged home says what is wrong and what to do about it, and doing that helps.

Each drill damages a copy of a home at a place that its number chooses, uses it as a person would,
and does what the first error says, or what `lra verify` says if no command stumbled.
"""

import asyncio
import os
import random
import re
import shlex
import shutil

import pytest

from long_running_agents.clock import SystemClock
from long_running_agents.config import load
from long_running_agents.domain.memory import Query, Viewer
from long_running_agents.store.backups import back_up
from long_running_agents.testing import Rule, Script, ScriptedModel, call, make_app, say

VIEWER = Viewer(owner="me", agent="lra")
SESSIONS = [f"talk-{number}" for number in range(3)]
WORDS = "Two herons, both grey, stood by the pond and said nothing at all. " * 12
PAGE = 4096


async def _talk(app, session, count):
    for number in range(count):
        turn = await app.turns.start(session, f"{number}: plan this, {WORDS[:300]}")
        await app.turns.settled(turn.id)


async def _furnish(home, clean, killed):
    """Copies of one home: closed, and as kill -9 leaves it with its newest rows in the log."""
    loaded = load(home=home, environ={})
    steps = (call("create_task", title="Buy milk"), say(WORDS))
    script = Script((Rule("plan", steps),))
    async with make_app(home, model=ScriptedModel(script)) as app:
        for session in SESSIONS:
            await _talk(app, session, 3)
        await app.remembered()
    back_up(loaded, SystemClock().now())
    shutil.copytree(home, clean)
    async with make_app(home, model=ScriptedModel(script)) as app:
        await _talk(app, SESSIONS[0], 4)
        await app.remembered()
        shutil.copytree(home, killed, ignore=shutil.ignore_patterns("*.sock", "lra.lock"))


@pytest.fixture(scope="session")
def homes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("homes")
    clean, killed = folder / "clean", folder / "killed"
    asyncio.run(_furnish(folder / "home", clean, killed))
    assert (killed / "lra.db-wal").stat().st_size > 20 * PAGE
    return {"clean": clean, "killed": killed}


def flip(path, chance, times):
    size = path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(times):
            place = chance.randrange(size)
            file.seek(place)
            old = file.read(1)[0]
            file.seek(place)
            file.write(bytes([old ^ chance.randrange(1, 256)]))


def zero(path, page):
    with path.open("r+b") as file:
        file.seek(page * PAGE)
        file.write(bytes(PAGE))


def pages(path):
    return path.stat().st_size // PAGE


KINDS = {
    "bytes": lambda db, chance: flip(db, chance, 20),
    "many bytes": lambda db, chance: flip(db, chance, 400),
    "log": lambda db, chance: flip(db.with_name("lra.db-wal"), chance, 3),
    "page": lambda db, chance: zero(db, chance.randrange(1, pages(db))),
    "pages": lambda db, chance: [zero(db, chance.randrange(1, pages(db))) for _ in range(8)],
    "first page": lambda db, _: zero(db, 0),
    "header": lambda db, chance: db.write_bytes(chance.randbytes(100) + db.read_bytes()[100:]),
    "cut": lambda db, chance: os.truncate(db, chance.randrange(1, db.stat().st_size)),
    "cut log": lambda db, chance: os.truncate(
        db.with_name("lra.db-wal"), chance.randrange(db.with_name("lra.db-wal").stat().st_size)
    ),
    "garbage": lambda db, chance: db.write_bytes(chance.randbytes(300_000)),
}
USE = (("sessions", "show", SESSIONS[0]), ("ask", "--session", SESSIONS[0], "hi"), ("verify",))
ADVICE = re.compile(r"'lra (doctor --fix|restore .*?)'")


async def _works(home):
    """Every session can go on, and what is remembered is found."""
    async with make_app(home, model=ScriptedModel(Script((Rule("", (say("hello"),)),)))) as app:
        for session in SESSIONS:
            turn = await app.turns.start(session, "hi")
            assert (await app.turns.settled(turn.id)).answer == "hello"
            await app.sessions.events(session)
        await app.remembered()
        await app.memories.find(VIEWER, Query(text="herons"))


def drill(lra, home, kind, seed):
    """Damage a home, use it, do what is advised, and use it again."""
    KINDS[kind](home / "lra.db", random.Random(f"{kind}{seed}"))
    said = []

    def do(*words):
        code, out, err = lra(*words)
        said.append(f"$ lra {shlex.join(words)} -> {code}\n{out[-600:]}{err[-900:]}")
        assert "Traceback" not in out + err, said
        assert "lra broke" not in out + err, said
        return code, ADVICE.findall(err)

    for words in USE:
        code, advice = do(*words)
        assert code == 0 or advice, said
        # By turns what saves the rows and the backup; if nothing can be saved, that is said.
        while advice:
            advice = do(*shlex.split(advice[0 if seed % 2 else -1]))[1]
        if code:
            break
    assert do("verify")[0] == 0, said
    asyncio.run(_works(home))


def run_drill(lra, homes, tmp_path, kind, seed):
    home = tmp_path / "home"
    shutil.copytree(homes["killed" if "log" in kind or seed % 3 else "clean"], home)
    drill(lra, home, kind, seed)


@pytest.mark.parametrize("kind", ["bytes", "log", "pages", "first page", "cut log", "garbage"])
def test_a_damaged_home_is_repaired_by_its_own_advice(lra, homes, tmp_path, kind):
    run_drill(lra, homes, tmp_path, kind, 1)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("kind", KINDS)
def test_fifty_corruption_drills(lra, homes, tmp_path, kind, seed):
    run_drill(lra, homes, tmp_path, kind, seed)
