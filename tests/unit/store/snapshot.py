"""Writes down the schema that all migrations lead to: `python -m tests.unit.store.snapshot`."""

import sqlite3
import tempfile
from pathlib import Path

from long_running_agents.domain.redaction import Redactor
from long_running_agents.store import schema
from long_running_agents.store.database import Database


def migrated(path):
    """Make a database by way of every migration."""
    database = Database(path, redact=Redactor())
    schema.migrate(database.engine, path, schema.HEAD)
    database.engine.dispose()


def written(path):
    """A database's schema and its first rows, as statements with a blank line between them."""
    connection = sqlite3.connect(path)
    try:
        return "\n\n".join([*_made(connection), *_filled(connection)]) + "\n"
    finally:
        connection.close()


def _made(connection):
    # What SQLite makes for a full-text table by itself is named after that table.
    found = connection.execute(
        "SELECT sql FROM sqlite_master AS one WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        " AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'"
        " AND one.name LIKE sqlite_master.name || '\\__%' ESCAPE '\\') ORDER BY rowid"
    )
    return ["\n".join(filter(None, map(str.rstrip, sql.splitlines()))) for (sql,) in found]


def _filled(connection):
    return [line for line in connection.iterdump() if _row_of_ours(line)]


def _row_of_ours(line):
    return line.startswith('INSERT INTO "') and "sqlite_" not in line and "memory_words" not in line


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        migrated(Path(folder) / "made.db")
        schema.SNAPSHOT.write_text(written(Path(folder) / "made.db"), encoding="utf-8")
