import re
import shutil
import sqlite3

import pytest
from tests.unit.store.house import NOON, add_messages, add_session, add_turn, house
from tests.unit.store.snapshot import created, statements

from long_running_agents import doctor
from long_running_agents.config import load
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, NewerDatabase, StorageFailed
from long_running_agents.home import Home
from long_running_agents.store import schema, sessions, turns
from long_running_agents.store.database import Database

pytestmark = pytest.mark.anyio

NEXT = f"{int(schema.HEAD) + 1:04}"
OLD = next(each for each in schema.schema_statements(schema.HEAD) if "TABLE sessions" in each)
INDEXES = [each for each in schema.schema_statements(schema.HEAD) if " ON sessions " in each]


def rebuilt(made):
    """The statements that put another table in the place of the sessions."""
    names = ", ".join(re.findall(r"^\t([a-z_]+) ", OLD, re.MULTILINE))
    return "\n\n".join([
        f"-- SQLite cannot do this otherwise.\n{made}",
        f"INSERT INTO rebuilt ({names}) SELECT {names} FROM sessions",
        "DROP TABLE sessions",
        "ALTER TABLE rebuilt RENAME TO sessions",
        *INDEXES,
    ])  # fmt: skip


PLAIN = OLD.replace("TABLE sessions", "TABLE rebuilt")
COLOURED = PLAIN.replace("(", "(\n\tcolour VARCHAR DEFAULT 'blue',", 1)
FUTURE = f"{rebuilt(COLOURED)}\n\n-- down\n{rebuilt(PLAIN)}\n"


@pytest.fixture
def migrations(tmp_path):
    """Our migrations, and one from the future."""
    folder = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, folder)
    (folder / f"{NEXT}_colours.sql").write_text(FUTURE, encoding="utf-8")
    return folder


@pytest.fixture
async def old(tmp_path):
    """The path of a database of this version, with a conversation in it."""
    home = Home(tmp_path / "home")
    async with house(home.path) as database:
        await database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        await database.write(lambda tx: add_messages(tx, "t1", 2))
    return home


async def upgraded(home, migrations):
    database = Database(home.database, redact=Redactor())
    try:
        schema.prepare(database.engine, home.database, now=NOON, migrations=migrations)
        with database.engine.begin() as connection:
            return schema.current_revision(connection)
    finally:
        await database.close()


def rows(path, query):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_the_head_is_the_newest_migration():
    assert max(["0100", *schema.steps()]) == schema.HEAD


def test_the_statements_for_a_new_database_are_those_of_the_tables(tmp_path):
    created(tmp_path / "tables.db")

    assert schema.schema_statements(schema.HEAD) == statements(tmp_path / "tables.db"), (
        "Run 'python -m tests.unit.store.snapshot'."
    )


async def test_a_new_database_is_built_without_a_migration(tmp_path):
    async with house(tmp_path / "home") as database:
        pass

    assert statements(database.path) == schema.schema_statements(schema.HEAD)
    assert rows(database.path, "SELECT * FROM alembic_version") == [(schema.HEAD,)]
    assert not (tmp_path / "home" / "backups").exists()


async def test_what_the_migrations_make_is_what_a_new_database_has(tmp_path, database):
    path = tmp_path / "migrated.db"
    with sqlite3.connect(path) as connection:
        for statement in (
            "CREATE TABLE alembic_version (version_num)",
            "INSERT INTO alembic_version VALUES ('0100')",
            *schema.schema_statements("0100"),
        ):
            connection.execute(statement)
    connection.close()
    migrated = Database(path, redact=Redactor())
    schema.migrate(migrated.engine, path, schema.HEAD)
    await migrated.close()

    assert shape(path) == shape(database.path)


def shape(path):
    """What a database is, however its statements were written: columns, references, indexes."""
    looks = ("table_xinfo", "foreign_key_list", "index_list")
    return {
        name: [
            sorted(str(row[1:]) for row in rows(path, f"PRAGMA {look}({name})")) for look in looks
        ]
        for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
        if name != "alembic_version"
    }


async def test_a_column_more_or_less_would_be_noticed(old, migrations):
    before = shape(old.database)
    await upgraded(old, migrations)
    assert shape(old.database) != before


async def test_a_step_up_is_taken_back_by_the_step_down(old, migrations):
    before = shape(old.database)
    await upgraded(old, migrations)
    database = Database(old.database, redact=Redactor())
    schema.migrate(database.engine, old.database, schema.HEAD, migrations=migrations)
    await database.close()

    assert shape(old.database) == before
    async with house(old.path) as database:
        assert (await database.read(sessions.newest)).id == "s"
        assert len(await database.read(lambda tx: turns.of_session(tx, "s"))) == 1


async def test_an_upgrade_makes_a_backup_first(old, migrations):
    assert await upgraded(old, migrations) == NEXT

    [backup] = old.backups.iterdir()
    assert backup.name == f"before-{NEXT}-20260105-120000.db"
    assert rows(backup, "SELECT version_num FROM alembic_version") == [(schema.HEAD,)]
    assert rows(backup, "SELECT id FROM sessions") == [("s",)]
    assert rows(old.database, "SELECT id, colour FROM sessions") == [("s", "blue")]


async def test_rebuilding_a_table_keeps_what_hangs_on_it(old, migrations):
    await upgraded(old, migrations)

    assert rows(old.database, "SELECT id FROM turns") == [("t1",)]
    assert rows(old.database, "SELECT count(*) FROM messages") == [(4,)]


async def test_an_upgrade_that_would_orphan_rows_changes_nothing(old, migrations):
    version = migrations / f"{NEXT}_colours.sql"
    version.write_text(f"DELETE FROM sessions\n\n{FUTURE}", encoding="utf-8")

    with pytest.raises(CorruptData, match="without their parents"):
        await upgraded(old, migrations)

    assert rows(old.database, "SELECT id FROM sessions") == [("s",)]
    assert rows(old.database, "SELECT version_num FROM alembic_version") == [(schema.HEAD,)]


async def test_an_upgrade_that_fails_half_way_changes_nothing(old, migrations):
    version = migrations / f"{NEXT}_colours.sql"
    broken = FUTURE.replace("\n\n-- down", "\n\nINSERT INTO oops VALUES (1)\n\n-- down")
    version.write_text(broken, encoding="utf-8")

    with pytest.raises(CorruptData, match="oops"):
        await upgraded(old, migrations)

    assert rows(old.database, "SELECT * FROM alembic_version") == [(schema.HEAD,)]
    assert "colour" not in str(rows(old.database, "SELECT sql FROM sqlite_master"))
    async with house(old.path) as database:
        assert len(await database.read(lambda tx: turns.of_session(tx, "s"))) == 1


async def test_foreign_keys_are_back_on_after_an_upgrade(old, migrations):
    database = Database(old.database, redact=Redactor())
    schema.migrate(database.engine, old.database, NEXT, migrations=migrations)
    try:
        await database.write(lambda tx: sessions.remove(tx, "s"))
    finally:
        await database.close()

    assert rows(old.database, "SELECT * FROM turns") == []


async def test_an_up_to_date_database_is_not_backed_up(old):
    async with house(old.path):
        pass

    assert not old.backups.exists()


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_database_of_a_newer_version_is_refused_with_advice(old, migrations, read_only):
    await upgraded(old, migrations)
    before = old.database.read_bytes()

    with pytest.raises(NewerDatabase, match=rf"schema {NEXT}.*Upgrade with 'pip install --upgrade"):
        async with house(old.path, read_only=read_only):
            pass
    assert old.database.read_bytes() == before


async def test_someone_elses_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "home" / "lra.db"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()

    with pytest.raises(CorruptData, match="not one of ours: it has a table 'bookmarks'"):
        async with house(tmp_path / "home"):
            pass
    assert rows(path, "SELECT name FROM sqlite_master") == [("bookmarks",)]


async def test_a_backup_that_cannot_be_written_stops_the_upgrade(old, migrations):
    old.backups.write_text("a file where the folder should be", encoding="utf-8")

    with pytest.raises(StorageFailed, match=r"The backup .* cannot be written"):
        await upgraded(old, migrations)

    assert rows(old.database, "SELECT version_num FROM alembic_version") == [(schema.HEAD,)]


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_database_of_a_development_version_is_refused_with_advice(old, read_only):
    with sqlite3.connect(old.database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0011'")
    connection.close()

    with pytest.raises(CorruptData, match=r"schema 0011.*cannot be upgraded. Move lra.db away"):
        async with house(old.path, read_only=read_only):
            pass

    assert rows(old.database, "SELECT id FROM sessions") == [("s",)]
    assert not old.backups.exists()
    found = doctor.database(load(home=old.path, environ={}))
    assert (found.state, found.fix.partition(" to")[0]) == ("problem", "Move lra.db away")
