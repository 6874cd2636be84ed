"""Reading a text file by lines, a page at a time, however long it is."""

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from long_running_agents.errors import UsageError
from long_running_agents.sandbox.encoding import HEAD, Encoding, encoding_of

Read = Callable[[int, int], bytes]
"""Reads bytes of a file: how many, from an offset on. Fewer come only at its end."""

_BLOCK = 1 << 20
_WHOLE = 32 << 20
"""The longest file that is held in memory, where lines do not end at a byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of a file to read."""

    line: int = 1
    """The first line; a negative one counts from the end."""
    column: int = 1
    """The first character of that line."""
    lines: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a file."""

    first: int
    """The number of its first line."""
    lines: tuple[str, ...]
    total: int
    """How many lines the file has."""
    next: tuple[int, int] | None
    """The line and the character to read on with; None at the end."""


def read_page(read: Read, size: int, wanted: Wanted) -> Page | None:
    """Read a page; None if the file is no text.

    Raises:
        UsageError: There is no such line.
    """
    head = read(0, HEAD)
    encoding = encoding_of(head, whole=len(head) == size)
    if encoding is None:
        return None
    if not encoding.by_bytes:
        read, size = _as_utf8(read, size, encoding)
        encoding = Encoding("utf-8")
    start = len(encoding.mark)
    total = _count(read, start)
    first = wanted.line if wanted.line > 0 else max(1, total + wanted.line + 1)
    if first > max(1, total):
        raise UsageError(f"There is no line {first}: the file has {total} lines.")
    lines, further = _collect(
        _characters(read, _start_of(read, start, first), encoding.codec), first, wanted
    )
    return Page(first=first, lines=tuple(lines), total=total, next=further)


def _as_utf8(read: Read, size: int, encoding: Encoding) -> tuple[Read, int]:
    if size > _WHOLE:
        raise UsageError(
            f"A file in {encoding.codec} with {size} bytes is too long to be read by lines.",
            hint="Convert it to UTF-8 with a program first.",
        )
    try:
        content = encoding.decoded(read(0, size)).encode("utf-8", "replace")
    except UnicodeDecodeError as error:
        raise UsageError(f"The file begins as {encoding.codec}, but is none.") from error
    return lambda offset, count: content[offset : offset + count], len(content)


def _count(read: Read, offset: int) -> int:
    """How many lines there are from an offset on."""
    lines, last = 0, b"\n"
    while block := read(offset, _BLOCK):
        lines += block.count(b"\n")
        last = block[-1:]
        offset += len(block)
    return lines + (last != b"\n")


def _start_of(read: Read, offset: int, line: int) -> int:
    """Where a line begins."""
    left = line - 1
    while left and (block := read(offset, _BLOCK)):
        there = block.count(b"\n")
        if there < left:
            left -= there
            offset += len(block)
            continue
        place = -1
        for _ in range(left):
            place = block.index(b"\n", place + 1)
        return offset + place + 1
    return offset


def _characters(read: Read, offset: int, codec: str) -> Iterator[str]:
    # Bytes that fit nowhere are shown as such, not hidden behind an error.
    decoder = codecs.getincrementaldecoder(codec)("replace")
    while block := read(offset, HEAD):
        offset += len(block)
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def _collect(
    pieces: Iterator[str], first: int, wanted: Wanted
) -> tuple[list[str], tuple[int, int] | None]:
    """Take lines while there is room for them; the last may be cut."""
    lines: list[str] = []
    skipped, room, column, rest = wanted.column - 1, wanted.characters, wanted.column, ""
    for piece in pieces:
        skip = min(skipped, len(piece))
        skipped -= skip
        rest += piece[skip:]
        *whole, rest = rest.split("\n")
        for line in whole:
            if len(lines) == wanted.lines or len(line) > room:
                return _cut(lines, line, room, first, column, wanted)
            lines.append(line.removesuffix("\r"))
            room -= len(line) + 1
            column = 1
        if len(lines) == wanted.lines or len(rest) > room:
            if not rest:
                continue
            return _cut(lines, rest, room, first, column, wanted)
    if rest:
        lines.append(rest.removesuffix("\r"))
    return lines, None


def _cut(
    lines: list[str], line: str, room: int, first: int, column: int, wanted: Wanted
) -> tuple[list[str], tuple[int, int]]:
    number = first + len(lines)
    if lines or len(lines) == wanted.lines:
        return lines, (number, 1)
    # Only the first line of a page is ever cut, so a page is never empty.
    return [line[:room]], (number, column + room)
