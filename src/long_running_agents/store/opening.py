"""Opening a home's database: own it, bring it up to date, close it again."""

import os
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import ConfigError, NotFound, StorageFailed
from long_running_agents.home import Home
from long_running_agents.store import schema
from long_running_agents.store.database import Database, storage_errors


@asynccontextmanager
async def open_database(
    loaded: Loaded, clock: Clock, *, read_only: bool = False
) -> AsyncGenerator[Database]:
    """Open the database of a home.

    Args:
        loaded: The settings.
        clock: Names the backup that is made before an upgrade.
        read_only: Look beside the home's owner instead of owning the home.
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
                schema.prepare(database.engine, path, backups=home.backups, now=clock.now())
            yield database
        finally:
            await database.close()


def database_path(loaded: Loaded) -> Path:
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StorageFailed(
            f"The database {path} cannot be written: {error.strerror}.",
            hint="Check the permissions of its folder, or DATABASE_URL.",
        ) from error


def _expect_head(database: Database, path: Path) -> None:
    with storage_errors(path), database.engine.begin() as connection:
        found = schema.current_revision(connection)
    if found is not None:
        schema.refuse_newer(found, path)
    if found != schema.HEAD:
        raise StorageFailed(
            f"{path} has schema {found}, this version uses {schema.HEAD}.",
            hint="Run 'lra doctor' or 'lra chat' once: they upgrade it after a backup.",
        )
