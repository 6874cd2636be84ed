"""A home is copied while it is in use, put back as it was, and copied once a day."""

import asyncio
import hashlib
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from tests.integration.stories import SESSION, ended

from long_running_agents import doctor
from long_running_agents.cli.main import run
from long_running_agents.config import load
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.home import Home
from long_running_agents.net import listen
from long_running_agents.server.serve import serve
from long_running_agents.store.backups import back_up, restore
from long_running_agents.testing import (
    FrozenClock,
    Rule,
    Script,
    ScriptedModel,
    call,
    make_app,
    say,
)

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
DAY = 86_400


def state_hash(path):
    """Of every row and every statement of a database."""
    with closing(sqlite3.connect(path)) as connection:
        return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()


def talkative():
    steps = (call("create_task", title="Buy milk"), say("hello"))
    return ScriptedModel(Script((Rule("", steps),)))


@pytest.fixture
async def home(tmp_path):
    """A home in which something was said, closed."""
    home = tmp_path / "home"
    async with make_app(home, model=talkative()) as app:
        await ended(app, "hi")
        await app.remembered()
    (home / ".env").write_text("OPENAI_API_KEY=sk-secret-of-mine", encoding="utf-8")
    return home


async def test_backups_under_load_are_sound_and_restore_to_an_equal_state(tmp_path):
    accepted, made = [], []
    async with make_app(tmp_path / "source", model=talkative()) as app:

        async def talk(name):
            for _ in range(8):
                accepted.append(await app.turns.start(SessionId(name), "hi"))
                await app.turns.settled(accepted[-1].id)

        talking = asyncio.gather(*(talk(f"talk-{number}") for number in range(3)))
        while not talking.done():
            before = {turn.id for turn in accepted}
            to = tmp_path / f"{len(made)}.db"
            await asyncio.to_thread(back_up, app.loaded, NOON, to)
            made.append((before, to))
        await talking
    assert len(made) > 2
    for number, (before, backup) in enumerate(made):
        home = tmp_path / f"home-{number}"
        loaded = load(home=home, environ={})
        restore(loaded, backup, NOON)
        assert state_hash(home / "lra.db") == state_hash(backup)
        found = doctor.verify(loaded, home / "lra.db")
        assert (found.damage, found.indexes) == ([], [])
        with closing(sqlite3.connect(home / "lra.db")) as connection:
            there = {row[0] for row in connection.execute("SELECT id FROM turns")}
        # What was accepted before it began is in it, and goes on.
        assert there >= before
    async with make_app(tmp_path / "home-1", model=talkative()) as app:
        for turn in made[1][0]:
            assert (await app.turns.settled(turn)).status is TurnStatus.DONE


async def test_a_restored_home_has_its_rows_and_none_of_its_secrets(home, tmp_path):
    backup, _ = back_up(load(home=home, environ={}), NOON, tmp_path / "b.db")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert b"secret-of-mine" not in backup.read_bytes()

    new = tmp_path / "new"
    rows, kept = restore(load(home=new, environ={}), backup, NOON)

    assert rows > 0
    assert kept is None
    assert not (new / ".env").exists()
    assert state_hash(new / "lra.db") == state_hash(home / "lra.db")


async def test_what_was_there_is_kept_and_can_be_restored_itself(home, tmp_path):
    loaded = load(home=home, environ={})
    backup, _ = back_up(loaded, NOON)
    async with make_app(home, model=talkative()) as app:
        await ended(app, "again")
        await app.remembered()
    later = state_hash(home / "lra.db")

    _, kept = restore(loaded, backup, NOON)

    assert state_hash(home / "lra.db") == state_hash(backup) != later
    restore(loaded, kept / "lra.db", datetime(2026, 1, 6, tzinfo=UTC))
    assert state_hash(home / "lra.db") == later


def other_schema(path, number):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (number,))


def foreign(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_bytes(b"no database" * 999), "is damaged (file is not a database"),
        (lambda path: path.write_bytes(path.read_bytes()[:50_000]), "is damaged"),
        (lambda path: other_schema(path, "9999"), "schema 9999, which this version does not know"),
        (lambda path: other_schema(path, "0011"), "schema 0011, of a development version"),
        (foreign, "not one of ours"),
    ],
)
async def test_what_is_no_sound_backup_changes_nothing(home, tmp_path, spoil, words, capsys):
    backup, _ = back_up(load(home=home, environ={}), NOON, tmp_path / "b.db")
    spoil(backup)
    before = state_hash(home / "lra.db")

    assert await asyncio.to_thread(run, ["restore", str(backup)]) == 1

    assert words in capsys.readouterr().err
    assert state_hash(home / "lra.db") == before
    assert not (home / "backups").exists()


async def test_refusals(home, tmp_path, capsys):
    def said(*words):
        code = run(words)
        return code, capsys.readouterr().err

    backup = tmp_path / "b.db"
    assert said("backup", "--to", str(backup))[0] == 0
    for words, code, message in [
        (("backup", "--to", str(backup)), 75, "is there already"),
        (("backup", "--to", str(tmp_path)), 2, "is a folder"),
        (("backup", "--to", str(backup / "x.db")), 75, "cannot be written"),
        (("restore", str(tmp_path / "none.db")), 3, "There is no file"),
        (("restore", str(tmp_path)), 2, "is no backup"),
        (("restore", str(home / "lra.db")), 2, "is no backup"),
    ]:
        found, shown = said(*words)
        assert (found, message in shown) == (code, True), shown
    with Home(home).owned():
        for words in (("restore", str(backup)), ("doctor", "--fix")):
            found, shown = said(*words)
            assert (found, "is using" in shown) == (75, True), shown
        assert said("backup", "--to", str(tmp_path / "c.db"))[0] == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["b.db", "c.db", "home"]


async def passed(clock, seconds):
    """Let time pass, and whatever is due then be done."""
    await clock.advance(seconds)
    while not clock.sleepers:  # noqa: ASYNC110 - a thread that copies tells nobody
        await asyncio.sleep(0)


async def test_a_server_backs_up_once_a_day_and_keeps_some(tmp_path):
    clock, stop, ready = FrozenClock(NOON), asyncio.Event(), asyncio.Event()
    home = tmp_path / "home"

    def made():
        return [each.name[6:14] for each in sorted((home / "backups").glob("daily-*.db"))]

    async with make_app(home, model=talkative(), storage__backups=2) as app:
        await ended(app, "hi", SESSION)
        with listen.listening("127.0.0.1", 0) as listener:
            address = lambda _: ready.set()  # noqa: E731 - that it is told is enough
            serving = asyncio.create_task(serve(app, clock, listener, stop, address))
            await ready.wait()
            await passed(clock, 0)
            assert made() == []
            await passed(clock, 60)
            assert made() == ["20260105"]
            await passed(clock, DAY - 61)
            assert made() == ["20260105"]
            for _ in range(3):
                await passed(clock, DAY)
            assert made() == ["20260107", "20260108"]
            stop.set()
            await serving


async def test_no_daily_backups_are_made_where_none_are_kept(tmp_path):
    clock, stop = FrozenClock(NOON), asyncio.Event()
    async with make_app(tmp_path, model=talkative(), storage__backups=0) as app:
        with listen.listening("127.0.0.1", 0) as listener:
            serving = asyncio.create_task(serve(app, clock, listener, stop, lambda _: stop.set()))
            await serving
    assert not (tmp_path / "backups").exists()
    assert clock.sleepers == 0
