"""Statements of the hot path: compiled once, then handed straight to the driver.

A step writes half a dozen rows. Going through SQLAlchemy's execution each time costs several
times what SQLite itself needs, so these few statements are only *written* with SQLAlchemy.
Values must already be what the driver stores: no type of a column is applied to them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Dialect, Insert
from sqlalchemy.sql import Executable
from sqlalchemy.sql.elements import ClauseElement

Row = tuple[Any, ...]


class Prepared:
    """One statement, compiled for each dialect it is used with.

    Args:
        statement: What to run; its parameters are named with ``bindparam``.
        columns: The columns an insert fills.
    """

    def __init__(self, statement: Executable, columns: Sequence[str] = ()) -> None:
        self._statement = statement
        self._columns = list(columns)
        self._compiled: dict[str, tuple[str, list[str]]] = {}

    def text(self, dialect: Dialect) -> tuple[str, list[str]]:
        """The SQL, and the names of its parameters in their order."""
        if dialect.name not in self._compiled:
            assert isinstance(self._statement, ClauseElement)  # noqa: S101 - what compile needs
            keys = self._columns if isinstance(self._statement, Insert) else None
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=keys)
            self._compiled[dialect.name] = (str(compiled), list(compiled.positiontup))
        return self._compiled[dialect.name]


def ordered(names: Sequence[str], values: Mapping[str, object]) -> list[object]:
    """Values in the order a statement wants them."""
    return [values[name] for name in names]


def all_ordered(names: Sequence[str], rows: Iterable[Mapping[str, object]]) -> list[list[object]]:
    """Rows of values in the order a statement wants them."""
    return [[row[name] for name in names] for row in rows]
