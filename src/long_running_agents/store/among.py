"""Conditions that SQLite takes well: many numbers at once, and columns it shall not look up."""

import json
from collections.abc import Iterable

from sqlalchemy import Column, ColumnElement, func, select


def among(column: Column[int], numbers: Iterable[int]) -> ColumnElement[bool]:
    """Whether a column is one of these numbers, however many there are.

    As one parameter: SQLite allows only so many of those.
    """
    listed = func.json_each(json.dumps(list(numbers))).table_valued("value")
    return column.in_(select(listed.c.value))


def plain(column: Column[str]) -> ColumnElement[str]:
    """A column to compare, not to look up.

    Where a better index is at hand, the planner might still take the one of this column, and walk
    through everything an owner has.
    """
    return column.concat("")
