"""Conditions that SQLite takes well: many numbers at once, and columns it shall not look up."""

import json
from collections.abc import Iterable

from sqlalchemy import Column, ColumnElement, bindparam, func, literal, select


def among(column: Column[int], numbers: Iterable[int]) -> ColumnElement[bool]:
    """Whether a column is one of these numbers, however many there are.

    As one parameter: SQLite allows only so many of those.
    """
    return _listed(column, literal(packed(numbers)))


def among_given(column: Column[int], parameter: str) -> ColumnElement[bool]:
    """The same for a statement that is written once: the numbers come packed, by this name."""
    return _listed(column, bindparam(parameter))


def packed(numbers: Iterable[int]) -> str:
    """Numbers as the value of one parameter."""
    return json.dumps(list(numbers))


def _listed(column: Column[int], numbers: ColumnElement[str]) -> ColumnElement[bool]:
    listed = func.json_each(numbers).table_valued("value")
    return column.in_(select(listed.c.value))


def plain(column: Column[str]) -> ColumnElement[str]:
    """A column to compare, not to look up.

    Where a better index is at hand, the planner might still take the one of this column, and walk
    through everything an owner has.
    """
    return column.concat("")
