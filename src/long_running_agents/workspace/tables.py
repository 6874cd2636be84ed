"""Looking at tables: formats, unpacking, the query, and the helper process that answers it."""

import codecs
import csv
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from importlib.util import find_spec
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached, NotConfigured, UsageError
from long_running_agents.sandbox import subprocess
from long_running_agents.sandbox.base import Json, printable
from long_running_agents.workspace.workspace import Workspace


class Form(StrEnum):
    """How a table is written."""

    CSV = "CSV"
    JSON_LINES = "JSON lines"
    JSON = "JSON"
    PARQUET = "Parquet"
    WORKBOOK = "Excel"


GZIP = b"\x1f\x8b"
_PACKED = (b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_LINES = (".jsonl", ".ndjson", ".jsonlines")
_SEPARATORS = ",\t;|"


def form_of(name: str, head: bytes) -> Form:
    """The form of a table."""
    name = name.lower()
    if head.startswith(b"PAR1"):
        return Form.PARQUET
    if head.startswith(_WORKBOOKS):
        return Form.WORKBOOK
    if head.startswith(_PACKED):
        raise UsageError("The file is packed.", hint="Unpack it first; only gzip is read packed.")
    if b"\0" in head:
        raise UsageError(
            "The file is no table.",
            hint="CSV, TSV, JSON lines, Parquet and Excel can be looked at.",
        )
    beginning = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if name.endswith(_LINES) or beginning.startswith(b"{"):
        return Form.JSON_LINES
    return Form.JSON if beginning.startswith(b"[") and name.endswith(".json") else Form.CSV


def separator(name: str, head: str) -> str:
    """What stands between the fields of a table: what its first line has most of."""
    if name.lower().endswith((".tsv", ".tab")):
        return "\t"
    outside = "".join(head.split("\n", 1)[0].split('"')[::2])
    best = max(_SEPARATORS, key=outside.count)
    return best if best in outside else ","


Operator = Literal[
    "==", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "ends_with", "in", "is_null",
    "not_null",
]  # fmt: skip


class Condition(TypedDict):
    """A condition on rows."""

    column: str
    op: Operator
    value: NotRequired[str | int | float | bool | list[str | int | float | bool] | None]


class Look(StrEnum):
    """What to see of a table."""

    HEAD = "head"
    TAIL = "tail"
    SAMPLE = "sample"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """What is asked of a table."""

    look: Look = Look.HEAD
    rows: int = 10
    columns: tuple[str, ...] = ()
    """Only these; empty means all."""
    where: tuple[Condition, ...] = ()
    """All of them have to be fulfilled."""
    order_by: str = ""
    """A column to sort by; a '-' before it means from the largest down."""
    sheet: str = ""
    """The sheet of a workbook; empty means the first."""

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> "TableQuery":
        """The question as it was sent."""
        told: dict[str, Any] = {**said, "look": Look(said["look"])}
        told |= {name: tuple(told[name]) for name in ("columns", "where")}
        return cls(**told)


UNPACKED = 512 << 20
"""The most bytes that something may have when it is unpacked."""

_BLOCK = 1 << 20
_GZIP = 31
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a text begins that uses two bytes for each character."""


def gunzipped(file: int) -> int:
    """A file with what a gzip file holds."""
    return _filled(_gunzip(file))


def _gunzip(file: int) -> Iterable[bytes]:
    unpacker, whole = zlib.decompressobj(wbits=_GZIP), True
    for packed in _blocks(file):
        block = packed
        while block:
            try:
                yield unpacker.decompress(block, _BLOCK)
            except zlib.error as error:
                raise UsageError(f"The gzip data is broken: {error}.") from error
            block, whole = unpacker.unconsumed_tail, unpacker.eof
            if whole:
                # Several files may be packed one after the other.
                block, unpacker = unpacker.unused_data, zlib.decompressobj(wbits=_GZIP)
    if not whole:
        raise UsageError("The gzip data ends too early.")


def narrowed(file: int) -> int:
    """A file with the same text in UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    return _filled(decoder.decode(each).encode("utf-8", "replace") for each in _blocks(file))


def sheet_as_csv(file: int, wanted: str) -> tuple[int, list[str]]:
    """A file with a sheet of a workbook as CSV, and the names of all sheets."""
    from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415 - an extra

    content = _whole(file)
    _check_size(content)
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
        names = workbook.sheet_names
        if not names:
            raise UsageError("The workbook has no sheet.")
        if wanted and wanted not in names:
            raise UsageError(f"There is no sheet {wanted!r}; there are {', '.join(names)}.")
        rows = workbook.get_sheet_by_name(wanted or names[0]).iter_rows()
        return _filled(_written(rows)), names
    except CalamineError as error:
        raise UsageError(f"The workbook cannot be read: {error}.") from error


def _check_size(content: bytes) -> None:
    """Refuse a workbook that says of itself that it swells; the memory bound stops the liars."""
    if not content.startswith(b"PK"):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            total = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise UsageError(f"The workbook is broken: {error}.") from error
    if total > UNPACKED:
        raise _too_large()


def _written(rows: Iterable[Iterable[object]]) -> Iterable[bytes]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in rows:
        writer.writerow([_cell(value) for value in row])
        yield buffer.getvalue().encode("utf-8", "replace")
        buffer.seek(0)
        buffer.truncate()


def _cell(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            # Workbooks know no whole numbers.
            return str(int(value))
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case _:
            return str(value)


def _whole(file: int) -> bytes:
    size = os.fstat(file).st_size
    if size > UNPACKED:
        raise _too_large()
    return b"".join(_blocks(file))


def _blocks(file: int) -> Iterable[bytes]:
    offset = 0
    while block := os.pread(file, _BLOCK, offset):
        offset += len(block)
        yield block


def _filled(pieces: Iterable[bytes]) -> int:
    made = os.memfd_create("table")
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > UNPACKED:
            raise _too_large()
        os.write(made, piece)
    return made


def _too_large() -> LimitReached:
    return LimitReached(
        f"Unpacked, the table has more than {UNPACKED >> 20} megabytes.",
        hint="Unpack or convert it with a program first.",
    )


_MODULE = "long_running_agents.workspace.table_queries"
_SECONDS = 100.0
_MEMORY = 2 << 30
_NAMED = 50
_MEASURES = ("column", "type", "values", "missing", "smallest", "largest", "mean", "different")


async def view(
    workspace: Workspace,
    path: str,
    question: TableQuery,
    clock: Clock,
    *,
    seconds: float = _SECONDS,
    memory: int = _MEMORY,
) -> str:
    """What is to be seen of a table in a workspace.

    Raises:
        NotConfigured: The extra is not installed.
        UsageError: The file is no table, or the question does not fit it.
        LimitReached: It needs more time or memory than it is given.
    """
    check_installed(find_spec)
    with workspace.opened(path, os.O_RDONLY) as file:
        size = os.fstat(file).st_size
        if size == 0:
            raise UsageError(f"{path!r} is empty.")
        bounds = subprocess.ProcessBounds(
            seconds=seconds, memory=memory, mapped=size, written=UNPACKED
        )
        request: Json = {
            "file": file,
            "name": path.rpartition("/")[2],
            "question": asdict(question),
        }
        report = await subprocess.run(_MODULE, request, bounds, clock, file=file)
    return _words(path, size, question, _answer(path, report))


def check_installed(find: Callable[[str], object]) -> None:
    """Say what is missing, if something is."""
    if any(find(module) is None for module in ("polars", "python_calamine")):
        raise NotConfigured(
            "Tables cannot be looked at here.",
            hint="The user can install what is missing: pip install 'long-running-agents[tables]'.",
        )


def _answer(path: str, report: subprocess.ProcessReport) -> Json:
    if report.lines:
        answer = report.lines[-1]
        if "error" in answer:
            raise UsageError(printable(str(answer["error"])), hint=str(answer.get("hint", "")))
        return answer
    raise LimitReached(
        f"{path!r} could not be looked at: {report.cut_short or 'nothing came back'}.",
        hint="Ask for fewer columns or rows, or use a program.",
    )


def _words(path: str, size: int, question: TableQuery, answer: Json) -> str:
    columns: list[list[str]] = answer["columns"]
    lines = [
        f"{path}: {answer['form']}, {answer['rows']} rows, {len(columns)} columns, {size} bytes.",
        f"Columns: {_column_list(columns)}.",
    ]
    if answer.get("texts"):
        lines.append("Some values fit no type, so every column is read as text.")
    if len(answer.get("sheets", ())) > 1:
        lines.append(f"Sheets: {', '.join(answer['sheets'])}; one is shown at a time.")
    if question.where:
        lines.append(f"{answer['matching']} rows match.")
    describing = question.look is Look.DESCRIBE
    heads: Sequence[str] = _MEASURES if describing else answer["chosen"]
    return printable("\n".join([*lines, "", _table(heads, answer["table"])]))


def _column_list(columns: Sequence[Sequence[str]]) -> str:
    named = ", ".join(f"{name} ({kind})" for name, kind in columns[:_NAMED])
    rest = len(columns) - _NAMED
    return named if rest <= 0 else f"{named} and {rest} more"


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    table = (heads, ["---"] * len(heads), *rows)
    cells = ([str(cell).replace("|", "\\|") for cell in row] for row in table)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
