"""Making a plain table of what is packed, in a file that exists in memory only."""

import codecs
import csv
import io
import os
import zipfile
import zlib
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta

from long_running_agents.errors import LimitReached, UsageError

UNPACKED = 512 << 20
"""The most bytes that something may have when it is unpacked."""

_BLOCK = 1 << 20
_GZIP = 31
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def gunzipped(file: int) -> int:
    """A file with what a gzip file holds."""
    return _filled(_gunzip(file))


def _gunzip(file: int) -> Iterable[bytes]:
    unpacker, offset, whole = zlib.decompressobj(wbits=_GZIP), 0, True
    while block := os.pread(file, _BLOCK, offset):
        offset += len(block)
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


def is_wide(head: bytes) -> bool:
    """Whether a text uses two bytes for each character."""
    return head.startswith(_WIDE)


def narrowed(file: int) -> int:
    """A file with the same text in UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def pieces() -> Iterable[bytes]:
        offset = 0
        while block := os.pread(file, _BLOCK, offset):
            offset += len(block)
            yield decoder.decode(block).encode("utf-8", "replace")

    return _filled(pieces())


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
    parts: list[bytes] = []
    while block := os.pread(file, _BLOCK, sum(map(len, parts))):
        parts.append(block)
    return b"".join(parts)


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
