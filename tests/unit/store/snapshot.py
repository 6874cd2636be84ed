"""Writes the schema of the tables down as SQL: `python -m tests.unit.store.snapshot`."""

import sqlite3
import tempfile
from pathlib import Path

from long_running_agents.domain.redaction import Redactor
from long_running_agents.store import schema
from long_running_agents.store.database import Database
from long_running_agents.store.job_tables import SCHEMA


def created(path):
    """Make a database of the tables themselves."""
    database = Database(path, redact=Redactor())
    with database.engine.begin() as connection:
        SCHEMA.create_all(connection)
    database.engine.dispose()


def statements(path):
    """A database's schema: its tables by name, then its indexes."""
    connection = sqlite3.connect(path)
    try:
        # What SQLite makes for a full-text table by itself is named after that table.
        found = connection.execute(
            "SELECT sql FROM sqlite_master AS one WHERE sql IS NOT NULL"
            " AND name NOT LIKE 'sqlite_%' AND name <> 'alembic_version'"
            " AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'"
            " AND one.name LIKE sqlite_master.name || '\\__%' ESCAPE '\\') ORDER BY type DESC, name"
        ).fetchall()
    finally:
        connection.close()
    return ["\n".join(filter(None, map(str.rstrip, sql.splitlines()))) for (sql,) in found]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        created(Path(folder) / "made.db")
        text = "\n\n".join(statements(Path(folder) / "made.db")) + "\n"
    (schema.MIGRATIONS / f"{schema.HEAD}.sql").write_text(text, encoding="utf-8")
