import sqlite3

import pytest
from tests.unit.store.house import add_messages, add_session, add_turn, house

from long_running_agents.errors import CorruptData, StorageFailed
from long_running_agents.home import Home
from long_running_agents.store import schema
from long_running_agents.store.integrity import examine
from long_running_agents.store.schema import has_full_text_search

pytestmark = pytest.mark.anyio


async def test_a_sound_database_is_sound_even_while_it_is_in_use(database):
    assert examine(database.path) == schema.HEAD


def test_someone_elses_database_is_none_of_ours(tmp_path):
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()

    with pytest.raises(CorruptData, match="not one of ours"):
        examine(path)


def test_what_is_no_database_or_not_there_is_said(tmp_path):
    (tmp_path / "x.db").write_bytes(b"garbage" * 1000)

    with pytest.raises(CorruptData, match="damaged"):
        examine(tmp_path / "x.db")
    with pytest.raises(StorageFailed, match="cannot be read"):
        examine(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


async def test_damage_is_found(tmp_path):
    async with house(tmp_path) as database:
        await database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        await database.write(lambda tx: add_messages(tx, "t1", 500))
    path = Home(tmp_path).database
    connection = sqlite3.connect(path)
    [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'")
    [(size,)] = connection.execute("PRAGMA page_size")
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)

    with pytest.raises(CorruptData, match="btreeInitPage"):
        examine(path)


def test_full_text_search_is_there():
    assert has_full_text_search()
