"""Open a database: check that it is whole, and migrate it to this program's schema."""

import os
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import Connection, Engine, inspect, text

from long_running_agents.config import LoadedSettings
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import (
    ConfigError,
    CorruptData,
    NewerDatabase,
    NotFound,
    StorageFailed,
    storing,
)
from long_running_agents.home import Home
from long_running_agents.store.database import Database
from long_running_agents.store.integrity import (
    FIRST,
    backup_folder,
    check_whole,
    copy_database,
    storage_errors,
)
from long_running_agents.store.tables import HEAD

MIGRATIONS = Path(__file__).parent / "migrations"

# The name is Alembic's, which made the first ones.
_VERSION_TABLE = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
_DOWN = "\n-- down\n"
"""Between what a migration does and what takes it back."""


def schema_statements(revision: str) -> list[str]:
    """The statements that make a schema at once: `migrations/REVISION.sql`.

    A new database is made of the newest ones: compiling the tables takes three times as long. A
    test holds them equal to the tables, and these to the migrations.
    """
    return _statements((MIGRATIONS / f"{revision}.sql").read_text(encoding="utf-8"))


def _statements(text: str) -> list[str]:
    """What is written with an empty line between one and the next."""
    return text.strip().split("\n\n")


def steps(migrations: Path = MIGRATIONS) -> dict[str, Path]:
    """The migrations after the first schema, in order, by the revisions that they lead to."""
    return {path.name[:4]: path for path in sorted(migrations.glob("[0-9]*_*.sql"))}


def current_revision(connection: Connection) -> str | None:
    """The schema a database has; None when it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def prepare(engine: Engine, path: Path, *, now: datetime, migrations: Path = MIGRATIONS) -> None:
    """Upgrade a database to the newest schema, after backing it up; refuse a newer one."""
    head = max([FIRST, *steps(migrations)])
    with storage_errors(path), engine.begin() as connection:
        found = current_revision(connection)
        tables = set(inspect(connection).get_table_names()) if found is None else set[str]()
    if found == head:
        return
    if tables:
        raise CorruptData(
            f"{path} is a database, but not one of ours: it has a table {min(tables)!r}.",
            hint="Choose another home or move the file away.",
        )
    if found is None:
        _build(engine, path)
        return
    refuse_unknown(found, path, migrations)
    copy_database(path, backup_folder(path) / f"before-{head}-{now:%Y%m%d-%H%M%S}.db")
    migrate(engine, path, head, migrations=migrations)


def _build(engine: Engine, path: Path) -> None:
    """Give an empty database the newest schema at once, in one transaction."""
    with storage_errors(path), engine.begin() as connection:
        for statement in building():
            connection.exec_driver_sql(statement)


def building() -> list[str]:
    """The statements that make a new database."""
    insert = f"INSERT INTO alembic_version VALUES ('{HEAD}')"
    return [_VERSION_TABLE, insert, *schema_statements(HEAD)]


def migrate(engine: Engine, path: Path, revision: str, *, migrations: Path = MIGRATIONS) -> None:
    """Move a database up or down to a revision, in one transaction."""
    with storage_errors(path), _without_foreign_keys(engine) as connection:
        found = current_revision(connection) or FIRST
        low, high = sorted((found, revision))
        between = [step for at, step in steps(migrations).items() if low < at <= high]
        parts = [step.read_text(encoding="utf-8").partition(_DOWN) for step in between]
        up = [each for part in parts for each in _statements(part[0])]
        down = [each for part in reversed(parts) for each in _statements(part[2])]
        for statement in up if revision > found else down:
            connection.exec_driver_sql(statement)
        connection.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": revision})


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


def refuse_unknown(found: str, path: Path, migrations: Path = MIGRATIONS) -> None:
    """Stop at a database of a newer version of this program, or of one before the first schema."""
    if found < FIRST:
        raise CorruptData(
            f"{path} has schema {found}, of a development version that cannot be upgraded.",
            hint=f"Move {path.name} away to begin anew. What you want to keep, export with the "
            "version that wrote it: 'lra sessions export', 'lra memory export'.",
        )
    if found not in (FIRST, *steps(migrations)):
        raise NewerDatabase(
            f"{path} has schema {found}, which this version does not know.",
            hint="Upgrade with 'pip install --upgrade long-running-agents', or open another home.",
        )


@asynccontextmanager
async def open_database(
    loaded: LoadedSettings, clock: Clock, *, read_only: bool = False
) -> AsyncGenerator[Database]:
    """Open the database of a home.

    With ``read_only``, look beside the home's owner instead of owning the home.
    """
    home = Home(loaded.home)
    path = database_path(loaded)
    with ExitStack() as stack:
        if read_only:
            if not path.exists():
                raise NotFound(
                    f"There is nothing in {home.path} yet.", hint="Begin with 'lra chat'."
                )
        else:
            stack.enter_context(home.owned())
        check_whole(path, home)
        if not read_only:
            _make_file(path)
        database = Database(
            path,
            redact=loaded.redact,
            read_only=read_only,
            synchronous=loaded.settings.storage.synchronous,
        )
        try:
            if read_only:
                _expect_head(database, path)
            else:
                prepare(database.engine, path, now=clock.now())
            yield database
        finally:
            await database.close()


def database_path(loaded: LoadedSettings) -> Path:
    """The database's file, from DATABASE_URL or in the home."""
    url = loaded.settings.storage.database_url
    if not url:
        return Home(loaded.home).database
    parts = urlsplit(url)
    name = parts.path.strip("/")
    if parts.scheme.split("+")[0] != "sqlite" or parts.netloc or name in ("", ":memory:"):
        shown = loaded.redact(url)
        raise ConfigError(
            f"{loaded.origin('storage.database_url')}: database URL {shown!r} is not accepted.",
            hint="Expected sqlite:///relative.db or sqlite:////absolute.db.",
        )
    return Path(parts.path[1:]).expanduser().absolute()


def _make_file(path: Path) -> None:
    """Create a database file that only its owner can read, wherever it is."""
    with storing(f"The database {path}", "Check the permissions of its folder, or DATABASE_URL."):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _expect_head(database: Database, path: Path) -> None:
    with storage_errors(path), database.engine.begin() as connection:
        found = current_revision(connection)
    if found is not None:
        refuse_unknown(found, path)
    if found != HEAD:
        raise StorageFailed(
            f"{path} has schema {found}, this version uses {HEAD}.",
            hint="Run 'lra doctor' or 'lra chat' once: they upgrade it after a backup.",
        )


def has_full_text_search() -> bool:
    """Whether this Python's SQLite can search text."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        except sqlite3.OperationalError:
            return False
    return True
