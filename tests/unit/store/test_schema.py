import shutil
import sqlite3

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.unit.store.house import NOON, add_messages, add_session, add_turn, house
from tests.unit.store.snapshot import migrated, written

from long_running_agents.domain.memory import Draft, Viewer
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, NewerDatabase, StorageFailed
from long_running_agents.home import Home
from long_running_agents.memory.memories import Memories
from long_running_agents.store import memory_tables, schema, sessions, skill_tables, turns
from long_running_agents.store.database import Database
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

NEXT = f"{int(schema.HEAD) + 1:04}"
FUTURE = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{schema.HEAD}"


def upgrade():
    with op.batch_alter_table("sessions", recreate="always") as batch:
        batch.add_column(sa.Column("colour", sa.String(), server_default="blue"))


def downgrade():
    with op.batch_alter_table("sessions", recreate="always") as batch:
        batch.drop_column("colour")
"""


@pytest.fixture
def migrations(tmp_path):
    """Our migrations, and one from the future."""
    folder = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"{NEXT}_colours.py").write_text(FUTURE, encoding="utf-8")
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
        schema.prepare(
            database.engine, home.database, backups=home.backups, now=NOON, migrations=migrations
        )
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
    script = ScriptDirectory.from_config(schema._config(schema.MIGRATIONS))

    assert script.get_heads() == [schema.HEAD]


def test_a_new_database_is_what_all_migrations_make(tmp_path):
    migrated(tmp_path / "old way.db")

    assert written(tmp_path / "old way.db") == schema.SNAPSHOT.read_text(encoding="utf-8"), (
        "Run 'python -m tests.unit.store.snapshot'."
    )


async def test_a_new_database_is_built_without_a_migration(tmp_path):
    async with house(tmp_path / "home") as database:
        pass

    assert written(database.path) == schema.SNAPSHOT.read_text(encoding="utf-8")
    assert not (tmp_path / "home" / "backups").exists()


def differences(connection, metadata):
    """Where a database differs from what the code expects.

    The full-text table is no table of SQLAlchemy's; SQLite keeps it in several of its own.
    """

    def ours(_object, name, kind, _reflected, _compared):
        return kind != "table" or not name.startswith("memory_words")

    options = {"compare_type": True, "include_object": ours}
    return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


async def test_the_migrated_schema_is_the_one_the_code_uses(database):
    with database.engine.begin() as connection:
        assert differences(connection, skill_tables.metadata) == []


async def test_a_missing_column_would_be_noticed(database):
    other = sqlalchemy.MetaData()
    for table in memory_tables.metadata.tables.values():
        table.to_metadata(other)
    other.tables["audit"].append_column(sqlalchemy.Column("extra", sqlalchemy.Text))

    with database.engine.begin() as connection:
        assert differences(connection, other) != []


async def test_everything_can_be_taken_down_and_built_again(tmp_path, old):
    database = Database(old.database, redact=Redactor())
    schema.migrate(database.engine, old.database, "base")
    await database.close()
    # SQLite's own list of numbers that were given is never dropped, only emptied.
    assert rows(old.database, "SELECT name FROM sqlite_master WHERE type = 'table'") == [
        ("alembic_version",),
        ("sqlite_sequence",),
    ]
    assert rows(old.database, "SELECT * FROM sqlite_sequence") == []

    async with house(old.path) as database:
        await database.write(add_session)

        assert (await database.read(sessions.newest)).id == "s"


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
    version = migrations / "versions" / f"{NEXT}_colours.py"
    version.write_text(
        FUTURE.replace("def upgrade():", "def upgrade():\n    op.execute('DELETE FROM sessions')"),
        encoding="utf-8",
    )

    with pytest.raises(CorruptData, match="without their parents"):
        await upgraded(old, migrations)

    assert rows(old.database, "SELECT id FROM sessions") == [("s",)]
    assert rows(old.database, "SELECT version_num FROM alembic_version") == [(schema.HEAD,)]


async def test_an_upgrade_that_fails_half_way_changes_nothing(old, migrations):
    version = migrations / "versions" / f"{NEXT}_colours.py"
    broken = FUTURE.replace(
        "\n\ndef downgrade", "\n    raise RuntimeError('oops')\n\n\ndef downgrade"
    )
    version.write_text(broken, encoding="utf-8")

    with pytest.raises(RuntimeError, match="oops"):
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


async def test_a_house_from_before_the_memory_keeps_its_conversations_and_gets_an_owner(old):
    database = Database(old.database, redact=Redactor())
    schema.migrate(database.engine, old.database, "0003")
    await database.close()
    assert rows(old.database, "SELECT name FROM sqlite_master WHERE name LIKE 'memor%'") == []

    async with house(old.path):
        pass

    assert rows(old.database, "SELECT id, owner FROM sessions") == [("s", "me")]
    assert rows(old.database, "SELECT count(*) FROM messages") == [(4,)]
    assert rows(old.database, "SELECT count(*) FROM memories") == [(0,)]


async def test_memories_of_before_are_in_use_and_survive_the_way_back(old):
    async with house(old.path) as database:
        memories = Memories(database, None, FrozenClock(NOON))
        written = await memories.write(Viewer(), Draft(content="The heron eats frogs."))
        await memories.switch(Viewer(), written.memory.id, enabled=False)
    database = Database(old.database, redact=Redactor())
    schema.migrate(database.engine, old.database, "0007")
    await database.close()
    assert "enabled" not in str(
        rows(old.database, "SELECT sql FROM sqlite_master WHERE name = 'memories'")
    )
    assert rows(old.database, "SELECT content FROM memories") == [("The heron eats frogs.",)]

    async with house(old.path):
        pass
    assert rows(old.database, "SELECT content, enabled FROM memories") == [
        ("The heron eats frogs.", 1)
    ]
