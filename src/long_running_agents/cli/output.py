"""Printing data: one JSON document, or a table that a terminal shows and a pipe can cut."""

import dataclasses
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

import click

from long_running_agents.domain.ids import SessionId, session_id
from long_running_agents.errors import NotFound, StorageFailed, UsageError, storing

if TYPE_CHECKING:
    from rich.table import Table

    from long_running_agents.domain.memory import Memory, MemoryId
    from long_running_agents.domain.rule import PinnedRule


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_WHOLE = 30
_GAP = 2
_DIGITS = 18
"""Of a memory's number, at most."""

output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file."
)
yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")


def session_key(_: click.Context, __: click.Parameter, text: str | None) -> SessionId | None:
    """A session's id as it was typed; refused when it cannot be one."""
    return None if text is None else session_id(text)


def session_option(meaning: str) -> Callable[[F], F]:
    """The option that names a session."""
    return click.option("-s", "--session", metavar="ID", callback=session_key, help=meaning)


def choice_option(name: str, among: Sequence[str], meaning: str, *to: str) -> Callable[[F], F]:
    """An option that is one of several, the first unless given; `to` names its parameter."""
    kind = click.Choice(among)
    return click.option(name, *to, type=kind, default=among[0], show_default=True, help=meaning)


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
            click.echo("\t".join(shown(" ".join(cell.split())) for cell in row))
        return
    from rich.console import Console

    colored = click.get_current_context().color
    console = Console(no_color=colored is False, highlight=False)
    console.print(fitted(titles, rows, console.width))


def print_list(
    found: Sequence[T],
    titles: str,
    row: Callable[[T], Sequence[object]],
    *,
    as_json: bool = False,
    nothing: str = "",
) -> None:
    """Print what was found: as JSON, as a table with these titles, or that there is nothing."""
    if as_json:
        print_json(found)
    elif nothing and not found:
        note(nothing)
    else:
        print_table(titles.split(", "), [list(map(_cell, row(each))) for each in found])


def print_either(value: T, as_json: bool, show: Callable[[T], object]) -> None:
    """Print one thing: as JSON, or as people see it."""
    (print_json if as_json else show)(value)


def _cell(value: object) -> str:
    return moment(value) if isinstance(value, datetime) else str(value)


def fitted(titles: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> "Table":
    """A table that fits: ids and times are of use only whole, long texts and the last give way."""
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


def number_of(text: str, noun: str = "memory") -> "MemoryId":
    """A memory's number, or another noun's, typed with or without its sign."""
    from long_running_agents.domain.memory import MemoryId

    digits = text.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        raise UsageError(f"{text!r} is no {noun}'s number:", hint="write it as 12 or '#12'.")
    return MemoryId(int(digits))


def said_by(trust: str, actor: str = "user") -> str:
    """Who said it, in a word."""
    return ("you" if actor == "user" else actor) if trust == "user" else trust


def cells(memory: "Memory") -> list[str]:
    """A memory as a row of a table."""
    who = said_by(memory.trust, memory.actor)
    day = f"{memory.event_at.astimezone():%Y-%m-%d}"
    kind = memory.kind if memory.enabled else f"{memory.kind}, off"
    return [f"#{memory.id}", kind, who, day, memory.content]


def rule_cells(rule: "PinnedRule") -> tuple[str, str]:
    """Where a rule stands, and where it holds."""
    where = "everywhere" if rule.session_id is None else rule.session_id
    return f"{rule.state}, enforced" if rule.enforced else rule.state, where


def rule_outcome(rule: "PinnedRule", command: str) -> str:
    """What has become of a rule, and what more can be had."""
    state, where = rule_cells(rule)
    line = f"rule #{rule.id} ({where}) is {state}: {rule.text}"
    if not rule.offer:
        return line
    offer = ", ".join(map(str, rule.offer))
    return f"{line}\n  '{command} enforce {rule.id}' has the gate enforce it, too: {offer}"


def confirmed(question: str, unheard: str, show: Callable[[], object] = lambda: None) -> bool:
    """Ask the person, after having shown what it is about; without a terminal nobody is asked."""
    if not sys.stdin.isatty():
        raise UsageError(unheard, hint="Add --yes to do it.")
    show()
    return click.confirm(question, err=True)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\))")
"""What a terminal would take for a command, such as a colour, a link or a copy to the clipboard."""


def safe(text: str) -> str:
    """Text that cannot command the terminal: what a model or a tool wrote is never an escape."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def shown(text: str) -> str:
    """Foreign text for stdout: what comes out of a pipe may well end up in a terminal."""
    return safe(text if sys.stdout.isatty() else _SEQUENCE.sub("", text))


def moment(at: datetime) -> str:
    """A moment in the person's own time zone."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def dim(text: str) -> str:
    """Text that stands back."""
    return click.style(text, dim=True)


def note(text: str) -> None:
    """Say something that is not the result."""
    click.echo(dim(safe(text)), err=True)


# Characters that no terminal shows, and some that turn the order of others round.
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_MARGIN = "    "


def visible(source: str) -> str:
    """Source without anything that hides: what cannot be seen is written out."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", safe(source))


def block(source: str) -> str:
    """Source set off from the text around it; no line of it can pass for that text."""
    return textwrap.indent(visible(source).strip("\n"), _MARGIN, lambda _: True)


def seen(text: str) -> str:
    """Foreign text for stdout: nothing hides from a person in it, and a pipe gets it whole."""
    return visible(text) if sys.stdout.isatty() else _encodable(text)


def print_code(source: str, language: str = "python") -> None:
    """Print source: with colours and the numbers of its lines at a terminal, else as it is."""
    if not sys.stdout.isatty():
        click.echo(_encodable(source).rstrip("\n"))
        return
    from rich.console import Console
    from rich.syntax import Syntax

    context = click.get_current_context(silent=True)
    console = Console(no_color=context is not None and context.color is False, highlight=False)
    console.print(
        Syntax(
            visible(source).rstrip("\n"),
            language,
            theme="ansi_dark",
            background_color="default",
            line_numbers=True,
            word_wrap=True,
        )
    )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


_AGE = re.compile(r"(\d{1,5})([hdwmy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}


def moment_of(text: str, now: datetime, *, end: bool = False, ahead: bool = False) -> datetime:
    """The moment that a text means, in the person's own time zone: of a day, its start or end."""
    try:
        if age := _AGE.fullmatch(text.strip().lower()):
            span = timedelta(hours=int(age[1]) * _HOURS[age[2]])
            return now + span if ahead else now - span
        return _named(text.strip(), end=end)
    except (ValueError, OverflowError):
        raise UsageError(
            f"The moment {text!r} is not understood:",
            hint="write a day such as 2025-01-31, a time such as 2025-01-31T12:00, or an age such"
            " as 90d.",
        ) from None


def _named(text: str, *, end: bool) -> datetime:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text).astimezone()
    return datetime.combine(day + timedelta(days=1) if end else day, time.min).astimezone()


_LARGEST = 4 << 20
"""Bytes; more than any module that a person wrote."""


def read_text(path: Path) -> str:
    """What a file of text holds, unless it is too large; '-' is what is piped in."""
    name = "what is piped in" if str(path) == "-" else str(path)
    content = _content(path)
    if len(content) > _LARGEST:
        raise UsageError(f"{name} is larger than {_LARGEST >> 20} MB.", hint="Give less.")
    try:
        # Not utf-8-sig: a mark at the beginning is for whoever reviews the text to see.
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not a text file: {error}.", hint="Expected UTF-8.") from error


@contextmanager
def private_file(path: Path, *, replace: bool = True) -> Generator[TextIO]:
    """A file to write that only its owner can read."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replace else os.O_EXCL)
    with storing(path, "Choose another file."):
        try:
            with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
                yield file
        except FileExistsError as error:
            raise UsageError(
                f"{path} is there already.", hint="Choose another file, or add --force."
            ) from error


def _content(path: Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(_LARGEST + 1)
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}.") from error
    except IsADirectoryError as error:
        raise UsageError(f"{path} is a folder.", hint="Name a file in it.") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StorageFailed(f"{path} cannot be read: {why}.") from error
