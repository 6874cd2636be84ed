"""A condition on many numbers at once, as one parameter: SQLite allows only so many of those."""

import json
from collections.abc import Iterable

from sqlalchemy import Column, ColumnElement, func, select


def among(column: Column[int], numbers: Iterable[int]) -> ColumnElement[bool]:
    """Whether a column is one of these numbers, however many there are."""
    listed = func.json_each(json.dumps(list(numbers))).table_valued("value")
    return column.in_(select(listed.c.value))
