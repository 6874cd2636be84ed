"""Databases of other programs: looked at, never changed."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    ColumnClause,
    Connection,
    NullPool,
    String,
    column,
    create_engine,
    literal_column,
    select,
    table,
    text,
)
from sqlalchemy.exc import DatabaseError
from sqlalchemy.sql import quoted_name

from long_running_agents.errors import UsageError

_COLUMNS = text(
    "SELECT tables.name, columns.name FROM sqlite_master AS tables,"
    " pragma_table_info(tables.name) AS columns"
    " WHERE tables.type = 'table' AND tables.sql NOT LIKE 'CREATE VIRTUAL%'"
    " ORDER BY tables.rowid, columns.cid"
)


def columns(path: Path) -> dict[str, list[str]]:
    """The tables of a database file and the names of their columns."""
    found: dict[str, list[str]] = {}
    with _looking(path) as connection:
        for name, each in connection.execute(_COLUMNS):
            found.setdefault(name, []).append(each)
    return found


def rows(path: Path, name: str, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Some columns of a table, as they are stored, in the order in which they were written."""
    # Named by the file itself, so always quoted; and as text, so that no type is applied.
    fields: list[ColumnClause[Any]] = [column(quoted_name(each, quote=True)) for each in wanted]
    source = table(quoted_name(name, quote=True), *fields)
    query = select(*fields).select_from(source).order_by(literal_column("rowid"))
    with _looking(path) as connection:
        for row in connection.execute(query):
            yield dict(zip(wanted, row, strict=True))


def documents(path: Path) -> Iterator[dict[str, Any]]:
    """The documents of a ChromaDB file, each with what is noted of it."""
    names = ("id", "key", "string_value", "int_value", "float_value")
    values: list[ColumnClause[Any]] = [column(each) for each in names]
    notes = table("embedding_metadata", *values)
    written = table("embeddings", column("id"), column("created_at", String))
    query = (
        select(*notes.c, written.c.created_at)
        .join(written, written.c.id == notes.c.id)
        .order_by(notes.c.id)
    )
    with _looking(path) as connection:
        last, found = None, dict[str, Any]()
        for row in connection.execute(query):
            if row.id != last:
                if found:
                    yield found
                last, found = row.id, {"created_at": row.created_at}
            values_of = (row.string_value, row.int_value, row.float_value)
            found[row.key] = next((each for each in values_of if each is not None), None)
        if found:
            yield found


@contextmanager
def _looking(path: Path) -> Generator[Connection]:
    query = {"mode": "ro", "uri": "true"}
    if not path.with_name(f"{path.name}-wal").exists():
        # Not even a lock: it may lie on a disk that cannot be written.
        query["immutable"] = "1"
    url = URL.create("sqlite", database=path.absolute().as_uri(), query=query)
    engine = create_engine(url, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.execute(text("PRAGMA trusted_schema = OFF"))
            yield connection
    except DatabaseError as error:
        raise UsageError(
            f"{path} cannot be read as a database ({error.orig}).",
            hint="Check that the file is whole, and that no other program is writing it.",
        ) from error
    finally:
        engine.dispose()
