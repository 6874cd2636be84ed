"""Printing data: one JSON document, or a table that a terminal shows and a pipe can cut."""

import dataclasses
import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from rich.table import Table

_WHOLE = 30
_GAP = 2

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""The option of every command that prints data."""


def plain(value: object) -> Any:
    """A domain object as JSON knows it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return {str(key): plain(item) for key, item in pairs.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, frozenset):
        return sorted(plain(item) for item in cast("frozenset[object]", value))
    if isinstance(value, datetime):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def print_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows: fitted to a terminal, or whole and separated by tabs for a pipe."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich.console import Console

    colored = click.get_current_context().color
    console = Console(no_color=colored is False, highlight=False)
    console.print(fitted(titles, rows, console.width))


def fitted(titles: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> "Table":
    """A table that fits: ids and times are of use only whole, long texts and the last give way.

    Args:
        titles: The heads of the columns.
        rows: The cells.
        columns: How wide the screen is.
    """
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    shown_rows = [[safe(" ".join(cell.split())) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(titles, *shown_rows, strict=True)]
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="bold")
    table.expand = sum(widths) + _GAP * len(widths) > columns
    for place, (title, width) in enumerate(zip(titles, widths, strict=True)):
        gives_way = table.expand and (width > _WHOLE or place == len(widths) - 1)
        ratio = min(width, columns) if gives_way else None
        table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for row in shown_rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def safe(text: str) -> str:
    """Text that cannot command the terminal: what a model or a tool wrote is never an escape."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def shown(text: str) -> str:
    """Foreign text for stdout: made safe for a terminal, left whole for a pipe."""
    return safe(text) if sys.stdout.isatty() else text


def moment(at: datetime) -> str:
    """A moment in the person's own time zone."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def dim(text: str) -> str:
    """Text that stands back."""
    return click.style(text, dim=True)


def note(text: str) -> None:
    """Say something that is not the result."""
    click.echo(dim(safe(text)), err=True)
