import asyncio
import os
import sqlite3
import threading
import time
from contextlib import asynccontextmanager

import pytest
from tests.unit.store.house import (
    NOON,
    add_messages,
    add_session,
    add_turn,
    every_connection,
    house,
)

from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, NotFound, StorageFailed
from long_running_agents.home import Home
from long_running_agents.store import decisions, sessions, turns
from long_running_agents.store.database import Database
from long_running_agents.store.decisions import AuditEntry
from long_running_agents.store.integrity import copy_database

pytestmark = pytest.mark.anyio


def note(tx, detail):
    decisions.note_admin(
        tx, AuditEntry(at=NOON, actor="test", action="note", subject="", detail=detail)
    )


def notes(tx):
    return [entry.detail for entry in reversed(decisions.newest_admin(tx, 1000))]


def limit_pages(database, extra):
    """Let the file grow by so many pages and no more; None lifts the limit."""

    def limit(connection):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        top = 1_000_000 if extra is None else pages + extra
        connection.execute(f"PRAGMA max_page_count = {top}")

    return every_connection(database, limit)


@asynccontextmanager
async def waiting_behind(database):
    """Whatever is asked to be written inside waits until one has asked for all of it."""
    writing, go_on = threading.Event(), threading.Event()
    before = asyncio.create_task(database.write(lambda _: (writing.set(), go_on.wait(10))))
    await asyncio.to_thread(writing.wait, 10)
    try:
        yield
        await asyncio.sleep(0)
    finally:
        go_on.set()
    await before


async def test_writes_that_wait_share_one_wait_for_the_disk_and_one_that_fails_fails_alone(
    database,
):
    asked = []

    def broken(tx):
        note(tx, "never")
        raise RuntimeError("half way")

    with every_connection(database, lambda driver: driver.set_trace_callback(asked.append)):
        async with waiting_behind(database):
            writes = [
                asyncio.create_task(database.write(work))
                for work in (
                    lambda tx: note(tx, "one"),
                    broken,
                    lambda tx: sessions.get(tx, "nobody's"),
                    lambda tx: note(tx, "two"),
                )
            ]
        done = await asyncio.gather(*writes, return_exceptions=True)

    assert [type(each) for each in done] == [type(None), RuntimeError, NotFound, type(None)]
    assert await database.read(notes) == ["one", "two"]
    # One for what was waited for, one for all who waited.
    assert asked.count("COMMIT") == 2


async def test_no_write_is_acknowledged_before_all_that_share_its_transaction_are_on_disk(database):
    begun, go_on = threading.Event(), threading.Event()

    def slow(tx):
        note(tx, "two")
        begun.set()
        assert go_on.wait(10)

    async with waiting_behind(database):
        first = asyncio.create_task(database.write(lambda tx: note(tx, "one")))
        await asyncio.sleep(0)
        second = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(begun.wait, 10)
    try:
        assert await database.read(notes) == []
        assert not first.done()
    finally:
        go_on.set()

    await asyncio.gather(first, second)
    assert await database.read(notes) == ["one", "two"]


async def test_a_full_disk_is_told_to_all_that_share_a_transaction_and_none_is_half_there(database):
    def big(tx):
        note(tx, "x" * 1_000_000)

    with limit_pages(database, 3):
        async with waiting_behind(database):
            works = [lambda tx: note(tx, "before"), big, lambda tx: note(tx, "after")]
            writes = [asyncio.create_task(database.write(work)) for work in works]
        done = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(each) for each in done] == [StorageFailed] * 3
        assert await database.read(notes) == []

    with limit_pages(database, None):
        await asyncio.gather(*(database.write(lambda tx: note(tx, "again")) for _ in range(3)))
    assert await database.read(notes) == ["again"] * 3


async def test_a_write_is_on_disk_when_it_returns(database):
    await database.write(lambda tx: note(tx, "one"))

    other = sqlite3.connect(database.path)
    assert other.execute("SELECT detail FROM audit").fetchall() == [("one",)]
    other.close()


async def test_a_write_that_fails_leaves_nothing(database):
    def half(tx):
        note(tx, "one")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        await database.write(half)

    assert await database.read(notes) == []


async def test_two_writers_take_turns(database):
    inside = []
    most = []

    def work(tx):
        inside.append(1)
        most.append(len(inside))
        seen = len(notes(tx))
        note(tx, str(seen))
        inside.pop()

    await asyncio.gather(*(database.write(work) for _ in range(20)))

    assert max(most) == 1
    assert await database.read(notes) == [str(number) for number in range(20)]


async def test_readers_are_not_blocked_by_a_writer_and_see_only_what_is_finished(database):
    writing, go_on = threading.Event(), threading.Event()

    def slow(tx):
        note(tx, "unfinished")
        writing.set()
        assert go_on.wait(10)

    write = asyncio.create_task(database.write(slow))
    try:
        await asyncio.to_thread(writing.wait, 10)
        assert await database.read(notes) == []
    finally:
        go_on.set()
    await write
    assert await database.read(notes) == ["unfinished"]


async def test_a_reader_sees_one_moment_even_while_others_write(database):
    reading, go_on = threading.Event(), threading.Event()

    def twice(tx):
        first = notes(tx)
        reading.set()
        assert go_on.wait(10)
        return first, notes(tx)

    read = asyncio.create_task(database.read(twice))
    await asyncio.to_thread(reading.wait, 10)
    await database.write(lambda tx: note(tx, "later"))
    go_on.set()

    assert await read == ([], [])


async def test_a_cancelled_write_is_whole_before_its_caller_hears_of_it(database):
    writing, go_on = threading.Event(), threading.Event()

    def slow(tx):
        note(tx, "one")
        writing.set()
        assert go_on.wait(10)
        note(tx, "two")

    write = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(writing.wait, 10)
    write.cancel()
    await asyncio.sleep(0)
    write.cancel()
    await asyncio.sleep(0)
    assert not write.done()
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await write
    assert await database.read(notes) == ["one", "two"]


async def test_a_cancelled_write_that_fails_is_absent_and_silent(database):
    writing, go_on = threading.Event(), threading.Event()

    def slow(tx):
        note(tx, "one")
        writing.set()
        assert go_on.wait(10)
        raise RuntimeError("half way")

    write = asyncio.create_task(database.write(slow))
    await asyncio.to_thread(writing.wait, 10)
    write.cancel()
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await write
    assert await database.read(notes) == []


async def test_a_full_disk_leaves_nothing_half_written_and_work_goes_on_afterwards(database):
    before = await database.read(lambda tx: turns.of_session(tx, "s"))

    def big(tx):
        add_turn(tx, "t2")
        add_messages(tx, "t2", 20)
        note(tx, "x" * 1_000_000)

    with limit_pages(database, 3):
        for _ in range(3):
            with pytest.raises(StorageFailed, match=r"No room left for .*nothing was lost"):
                await database.write(big)
    assert await database.read(lambda tx: turns.of_session(tx, "s")) == before
    assert await database.read(notes) == []

    with limit_pages(database, None):
        await database.write(big)
    assert len(await database.read(lambda tx: turns.of_session(tx, "s"))) == 2


async def test_a_locked_file_is_reported_in_time_and_not_half_written(tmp_path):
    async with house(tmp_path):
        pass
    database = Database(Home(tmp_path).database, redact=Redactor(), busy_seconds=0.1)
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        began = time.monotonic()
        with pytest.raises(StorageFailed, match=r"Another program holds .* locked"):
            await database.write(add_session)
        assert time.monotonic() - began < 5
        assert await database.read(sessions.newest) is None
        other.execute("ROLLBACK")

        await database.write(add_session)
    finally:
        other.close()
        await database.close()


async def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path):
    path = tmp_path / "lra.db"
    path.write_bytes(b"garbage, not SQLite" * 500)
    before = path.read_bytes()

    with pytest.raises(CorruptData, match=r"damaged.*'lra doctor --fix' .* There is no backup"):
        async with house(tmp_path):
            pass
    assert path.read_bytes() == before


async def test_from_the_first_sign_of_damage_on_nothing_is_written(tmp_path):
    path = Home(tmp_path).database
    async with house(tmp_path) as database:
        await database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        await database.write(lambda tx: add_messages(tx, "t1", 500))
    connection = sqlite3.connect(path)
    [(size,)] = connection.execute("PRAGMA page_size")
    [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'")
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)

    async with house(tmp_path) as database:
        with pytest.raises(CorruptData, match="damaged"):
            await database.write(lambda tx: add_messages(tx, "t1", 1))
        with pytest.raises(CorruptData, match="damaged"):
            await database.write(lambda tx: note(tx, "after the damage"))
        with pytest.raises(CorruptData, match="damaged"):
            await database.read(sessions.newest)

    assert b"after the damage" not in path.read_bytes()


async def test_a_mistake_in_the_data_stays_an_ordinary_exception(database):
    with pytest.raises(Exception, match="UNIQUE constraint") as caught:
        await database.write(add_session)

    assert not isinstance(caught.value, StorageFailed)
    assert (await database.read(sessions.newest)).id == "s"


async def test_a_backup_is_a_whole_copy_made_while_the_database_is_in_use(database, tmp_path):
    await database.write(lambda tx: note(tx, "kept"))
    to = tmp_path / "copies" / "copy.db"
    to.parent.mkdir()
    to.with_name(f"copy.db.{os.getpid()}.part").write_bytes(b"left behind by a crash" * 1000)

    copy_database(database.path, to)
    await database.write(lambda tx: note(tx, "too late"))

    copy = sqlite3.connect(to)
    assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert copy.execute("SELECT detail FROM audit").fetchall() == [("kept",)]
    copy.close()
    assert [path.name for path in to.parent.iterdir()] == ["copy.db"]


@pytest.mark.parametrize(("setting", "pragma"), [("FULL", 2), ("NORMAL", 1)])
async def test_what_survives_a_power_cut_is_a_setting(tmp_path, setting, pragma):
    async with house(tmp_path, environ={"LRA_STORAGE__SYNCHRONOUS": setting}) as database:
        with database.engine.begin() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == pragma
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
