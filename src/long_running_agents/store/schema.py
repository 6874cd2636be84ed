"""Bringing a database to this program's schema, and back."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from long_running_agents.errors import CorruptData, NewerDatabase
from long_running_agents.store.database import copy_database, storage_errors

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0008"
"""The newest migration. A test holds it equal to what Alembic finds in the folder."""

MIGRATIONS = Path(__file__).parent / "migrations"

SNAPSHOT = MIGRATIONS / "head.sql"
"""The schema that all migrations lead to, for new databases: a tenth of the way there. A test
holds it equal to theirs."""


def current_revision(connection: Connection) -> str | None:
    """The schema a database has; None when it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def prepare(
    engine: Engine, path: Path, *, backups: Path, now: datetime, migrations: Path = MIGRATIONS
) -> None:
    """Upgrade a database to the newest schema, after backing it up; refuse a newer one."""
    head = HEAD if migrations is MIGRATIONS else _head(migrations)
    with storage_errors(path), engine.begin() as connection:
        found = current_revision(connection)
        tables = set(inspect(connection).get_table_names()) if found is None else set[str]()
    if found == head:
        return
    if found is None and not tables and migrations is MIGRATIONS:
        _build(engine, path)
        return
    # Alembic leaves its own empty table behind when everything else was taken down.
    if tables := tables - {"alembic_version"}:
        raise CorruptData(
            f"{path} is a database, but not one of ours: it has a table {min(tables)!r}.",
            hint="Choose another home or move the file away.",
        )
    if found is not None:
        refuse_newer(found, path, migrations)
        copy_database(path, backups / f"before-{head}-{now:%Y%m%d-%H%M%S}.db")
    migrate(engine, path, head, migrations=migrations)


def _build(engine: Engine, path: Path) -> None:
    """Give an empty database the newest schema at once, in one transaction."""
    statements = SNAPSHOT.read_text(encoding="utf-8").split("\n\n")
    with storage_errors(path), engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def migrate(engine: Engine, path: Path, revision: str, *, migrations: Path = MIGRATIONS) -> None:
    """Move a database up or down to a revision, in one transaction."""
    from alembic import command  # noqa: PLC0415 - 0.2 s that an up-to-date database never pays

    with storage_errors(path), _without_foreign_keys(engine) as connection:
        config = _config(migrations)
        config.attributes["connection"] = connection
        found = current_revision(connection)
        down = revision == "base" or (found is not None and revision < found)
        (command.downgrade if down else command.upgrade)(config, revision)


@contextmanager
def _without_foreign_keys(engine: Engine) -> Generator[Connection]:
    """One transaction in which a table can be rebuilt without its rows' children being deleted."""
    with engine.connect() as connection:
        # SQLite ignores this inside a transaction, so the driver is told before there is one.
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - the only kind we open
        driver.execute("PRAGMA foreign_keys = OFF")
        try:
            with connection.begin():
                yield connection
                if broken := driver.execute("PRAGMA foreign_key_check").fetchone():
                    raise CorruptData(
                        f"The upgrade would leave rows of {broken[0]!r} without their parents.",
                        hint="Nothing was changed. Please report this.",
                    )
        finally:
            driver.execute("PRAGMA foreign_keys = ON")


def _config(migrations: Path) -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _head(migrations: Path) -> str:
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - as above

    head = ScriptDirectory.from_config(_config(migrations)).get_current_head()
    return head or "base"


def refuse_newer(found: str, path: Path, migrations: Path = MIGRATIONS) -> None:
    """Stop at a database that a newer version of this program has written."""
    if migrations is MIGRATIONS and found == HEAD:
        return
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - as above

    known = {s.revision for s in ScriptDirectory.from_config(_config(migrations)).walk_revisions()}
    if found not in known:
        raise NewerDatabase(
            f"{path} has schema {found}, which this version does not know.",
            hint="Upgrade with 'pip install --upgrade long-running-agents', or open another home.",
        )
