"""Looking a database over without changing it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from long_running_agents.store.database import storage_errors
from long_running_agents.store.schema import HEAD

SOUND = "ok"
"""What SQLite says of a file in which it finds nothing wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What was found."""

    schema: str | None
    """The file's schema; None when it is none of ours."""
    expected: str
    """The schema of this program."""
    damage: str
    """The first thing SQLite finds wrong, or nothing."""


def examine(path: Path) -> Health:
    """Open a database beside its owner and check it quickly.

    Raises:
        CorruptData: The file is no database.
        StorageFailed: It cannot be read.
    """
    with (
        storage_errors(path),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection,
    ):
        verdict: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        known = connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
        ).fetchone()[0]
        row = (
            connection.execute("SELECT version_num FROM alembic_version").fetchone()
            if known
            else None
        )
    return Health(
        schema=None if row is None else str(row[0]),
        expected=HEAD,
        damage="" if verdict == SOUND else verdict,
    )


def has_full_text_search() -> bool:
    """Whether this Python's SQLite can search text."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        except sqlite3.OperationalError:
            return False
    return True
