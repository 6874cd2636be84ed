"""What can be read of a damaged database is saved, and what is lost is said."""

import sqlite3
from contextlib import closing

import pytest
from tests.unit.store.house import NOON, add_messages, add_session, add_turn, house

from long_running_agents.config import load
from long_running_agents.errors import CorruptData
from long_running_agents.home import Home
from long_running_agents.store import backups
from long_running_agents.store.backups import repair, verify

pytestmark = pytest.mark.anyio

PAGE = 4096


@pytest.fixture
async def path(tmp_path):
    """A database with a thousand messages on many pages, closed."""
    async with house(tmp_path) as database:
        await database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        await database.write(lambda tx: add_messages(tx, "t1", 500))
    return Home(tmp_path).database


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for name in backups.SCHEMA.tables if name != "memory_words"]
        return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}


def write(path, place, data):
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


def change(path, statement):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def faults(path):
    return verify(path, Home(path.parent), {})


def leaves(path, table):
    """The numbers of the pages that hold rows of a table."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT pageno - 1 FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path",
            (table,),
        )
        return [row[0] for row in found]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: write(path, 0, b"\xff" * 100),
        lambda path: write(path, 0, bytes(PAGE)),
        lambda path: write(path, 16, b"\x00\x07"),
    ],
)
async def test_without_its_beginning_the_backup_is_what_is_left(path, damage):
    backup, _ = backups.back_up(load(home=path.parent, environ={}), NOON)
    damage(path)
    spoilt = path.read_bytes()
    assert faults(path).damage

    with pytest.raises(CorruptData, match=f"'lra restore {backup}' goes back"):
        repair(path, NOON, {})
    assert path.read_bytes() == spoilt


async def test_lost_pages_cost_their_own_rows_and_are_counted(path):
    before = rows(path)["messages"]
    pages = leaves(path, "messages")
    for page in (pages[3], pages[10], pages[-1]):
        write(path, page * PAGE, bytes(PAGE))

    told = repair(path, NOON, {})

    after = rows(path)["messages"]
    lost = len(before) - len(after)
    assert 30 < lost < 300
    assert set(after) < set(before)
    assert f"lost from messages: at least {lost}" in told
    assert faults(path).damage == []
    # What has gaps is not sent to a model any more.
    [session] = rows(path)["sessions"]
    assert session[-4] == len(before)


async def test_a_session_that_is_lost_comes_back_from_its_turns(path):
    [page] = leaves(path, "sessions")
    write(path, page * PAGE, bytes(PAGE))

    repair(path, NOON, {})

    [session] = rows(path)["sessions"]
    assert session[:2] == ("s", "Recovered")
    assert len(rows(path)["messages"]) == 1000
    async with house(path.parent) as database:
        await database.write(lambda tx: add_messages(tx, "t1", 1))


async def test_words_that_changed_are_mended(path):
    change(path, "UPDATE turns SET status = 'qxeued', prompt = CAST(x'68fe6c6c6f' AS TEXT)")
    assert faults(path).damage == ["turns: 1 rows cannot be understood"]

    told = repair(path, NOON, {})

    assert "mended in turns: 1" in told
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT status, prompt FROM turns").fetchall() == [
            ("queued", "h�llo")
        ]


async def test_rows_without_parents_and_missing_tables_are_found(path):
    change(path, "DELETE FROM turns")
    assert faults(path).damage == ["messages: 1000 rows without their parents"]
    change(path, "DROP INDEX events_by_time")
    assert "events_by_time is not there" in faults(path).damage

    told = repair(path, NOON, {})

    assert "lost from messages: at least 1,000" in told
    assert faults(path).damage == []


async def test_an_index_that_does_not_match_is_no_damage(path):
    change(path, "INSERT INTO memory_words (rowid, words, owner) VALUES (7, 'tea', 'o1')")

    found = faults(path)

    assert (found.damage, found.indexes) == ([], ["the index of memories does not match them"])


async def test_where_nothing_can_be_read_the_backup_is_named_or_that_there_is_none(path):
    path.write_bytes(b"garbage" * 30_000)
    with pytest.raises(CorruptData, match=r"There is no backup. Move lra.db\* out of"):
        repair(path, NOON, {})
    assert path.read_bytes() == b"garbage" * 30_000
    assert [each.name for each in path.parent.glob("lra.db*")] == ["lra.db"]
