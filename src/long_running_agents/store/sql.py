"""What all of the store shares: rows as dataclasses and back, conditions, counters of sessions."""

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import EnumType
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, cast, get_args

from sqlalchemy import Column, ColumnElement, Table, bindparam, func, literal, select, update

from long_running_agents.domain.ids import SessionId, shown
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.integrity import unreadable
from long_running_agents.store.tables import Dollars, Moment, microseconds, nanodollars, sessions

T = TypeVar("T")


def row_reader(shape: Callable[..., T], **read: Callable[[Any], object]) -> Callable[[Any], T]:
    """Make a function that maps a row to a dataclass, by the names of its fields.

    Args:
        shape: The dataclass. Values of fields that are enums become members.
        read: How fields are read from the row that are not a column of the same name.
    """
    found = [each for each in fields(cast("Any", shape)) if each.name not in read and each.init]
    names = [each.name for each in found]
    enums = [(name, kind) for name, kind in enum_fields(shape) if name in names]
    columns = attrgetter(*names)

    def read_row(row: Any) -> T:
        try:
            values = dict(zip(names, columns(row), strict=True))
            for name, kind in enums:
                if (value := values[name]) is not None:
                    values[name] = kind(value)
            for name, of in read.items():
                values[name] = of(row)
            return shape(**values)
        except (ValueError, TypeError) as error:
            raise unreadable(error) from error

    return read_row


def enum_fields(shape: object) -> list[tuple[str, EnumType]]:
    """The fields of a dataclass whose values are members of an enum, if there are any."""
    return [
        (each.name, kind)
        for each in fields(cast("Any", shape))
        for kind in (each.type, *get_args(each.type))
        if isinstance(kind, EnumType)
    ]


def row_values(table: Table, record: object, **changed: object) -> dict[str, object]:
    """The fields of a dataclass that a table has columns for, and what is said of others."""
    return {name: getattr(record, name) for name in _shared(table, type(record))} | changed


def stored_values(table: Table, record: object, **changed: object) -> dict[str, object]:
    """The same for a prepared statement: moments and money as the database keeps them."""
    values = row_values(table, record, **changed)
    for name, store in _converted(table):
        if (value := values.get(name)) is not None:
            values[name] = store(value)
    return values


@cache
def _shared(table: Table, shape: Any) -> list[str]:
    return [each.name for each in fields(shape) if each.name in table.c]


@cache
def _converted(table: Table) -> list[tuple[str, Callable[[Any], int]]]:
    kinds: dict[type, Callable[[Any], int]] = {Moment: microseconds, Dollars: nanodollars}
    return [
        (column.name, kinds[type(column.type)]) for column in table.c if type(column.type) in kinds
    ]


def update_by_id(table: Table, names: Iterable[str]) -> Prepared:
    """A statement that gives columns of the row of an id new values: see ``new_values``."""
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return Prepared(update(table).where(table.c.id == bindparam("row_id")).values(values))


def new_values(row_id: object, **values: object) -> dict[str, object]:
    """What ``update_by_id`` makes of a row, as the database keeps it."""
    return {"row_id": row_id, **{f"new_{name}": value for name, value in values.items()}}


def among(column: Column[int], numbers: Iterable[int]) -> ColumnElement[bool]:
    """Whether a column is one of these numbers, however many there are.

    As one parameter: SQLite allows only so many of those.
    """
    return _listed(column, literal(packed(numbers)))


def among_given(column: Column[int] | Column[str], parameter: str) -> ColumnElement[bool]:
    """The same for a statement that is written once: what is meant comes packed, by this name."""
    return _listed(column, bindparam(parameter))


def packed(numbers: Iterable[int] | Iterable[str]) -> str:
    """Numbers or names as the value of one parameter."""
    return json.dumps(list(numbers))


def _listed(column: Column[int] | Column[str], numbers: ColumnElement[str]) -> ColumnElement[bool]:
    listed = func.json_each(numbers).table_valued("value")
    return column.in_(select(listed.c.value))


def plain(column: Column[str]) -> ColumnElement[str]:
    """A column to compare, not to look up.

    Where a better index is at hand, the planner might still take the one of this column, and walk
    through everything an owner has.
    """
    return column.concat("")


def _statement(name: str) -> Prepared:
    column = sessions.c[name]
    return Prepared(
        update(sessions)
        .where(sessions.c.id == bindparam("session"))
        .values({column: column + bindparam("count")})
        .returning(column, sessions.c.owner)
    )


_STATEMENTS = {
    name: _statement(name) for name in ("last_turn", "last_message", "last_event", "last_task")
}


def take(tx: Transaction, session_id: SessionId, counter: str, count: int = 1) -> int:
    """Reserve the next numbers of a counter and return the first of them."""
    return take_owned(tx, session_id, counter, count)[0]


def take_owned(
    tx: Transaction, session_id: SessionId, counter: str, count: int = 1
) -> tuple[int, str]:
    """Reserve the next numbers of a counter; the first of them, and whose session it is."""
    row = tx.run(_STATEMENTS[counter], {"session": session_id, "count": count})
    if row is None:
        raise NotFound(f"No session {shown(session_id)!r}.", hint="It may have been deleted.")
    last: int = row[0]
    return last - count + 1, row[1]
