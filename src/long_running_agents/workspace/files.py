"""What tools do with files of a workspace: encodings, paged reading, listing, search, edits."""

import codecs
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached, NotFound, PathRefused, UsageError
from long_running_agents.sandbox import subprocess
from long_running_agents.sandbox.base import Json, printable
from long_running_agents.workspace.edit import patched, replaced
from long_running_agents.workspace.workspace import Workspace

HEAD = 1 << 16
"""How many bytes are looked at to tell text from something else."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LAST_OF_A_CHARACTER = 4
_ODD = bytes(set(range(32)) - set(b"\t\n\r\f\x08\x1b"))
_TOO_ODD = 0.02


@dataclass(frozen=True, slots=True)
class Encoding:
    """What turns bytes into text, and back into the same bytes."""

    codec: str
    mark: bytes = b""
    """The byte order mark at the beginning."""

    @property
    def by_bytes(self) -> bool:
        """Whether a line ends at a byte, so that a part of a file can be read."""
        return self.codec in ("utf-8", "latin-1")

    def decoded(self, content: bytes) -> str:
        """The text, without the mark."""
        return content[len(self.mark) :].decode(self.codec)

    def encoded(self, text: str) -> bytes:
        """The bytes, with the mark."""
        return self.mark + text.encode(self.codec)


def encoding_of(head: bytes, *, whole: bool) -> Encoding | None:
    """The encoding of a text, all of it or its head, which may end within a character; or None."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return Encoding(codec, mark)
    if b"\0" in head:
        return None
    if _is_utf8(head, whole=whole):
        return Encoding("utf-8")
    odd = len(head) - len(head.translate(None, _ODD))
    # Every byte is a character of Latin-1, so nothing is lost on the way back.
    return None if odd > len(head) * _TOO_ODD else Encoding("latin-1")


def _is_utf8(head: bytes, *, whole: bool) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return not whole and error.start >= len(head) - _LAST_OF_A_CHARACTER + 1
    return True


_BLOCK = 1 << 20
_HASHED = 64 << 20
_SHOWN = 16

_BY_BEGINNING = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document kept as one (xlsx, docx, jar, whl)"),
    (b"\xd0\xcf\x11\xe0", "an old Office document (xls, doc)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"MZ", "a Windows program"),
    (b"\0asm", "a WebAssembly module"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"RIFF", "RIFF data (WAV, AVI or WebP)"),
    (b"GGUF", "the weights of a model (GGUF)"),
)
_BY_PLACE = ((b"ftyp", 4, "MP4 video or audio"), (b"ustar", 257, "a tar archive"))


def kind_of(head: bytes) -> str:
    """What a file that begins like this is, in words."""
    for beginning, words in _BY_BEGINNING:
        if head.startswith(beginning):
            return words
    for sign, place, words in _BY_PLACE:
        if head[place:].startswith(sign):
            return words
    return "binary data of a kind nobody here knows"


def described(path: str, size: int, read: Callable[[int, int], bytes]) -> str:
    """A file that is no text, in a few lines."""
    head = read(0, 512)
    digest = hashlib.sha256()
    for offset in range(0, min(size, _HASHED), _BLOCK):
        digest.update(read(offset, min(_BLOCK, _HASHED - offset)))
    of_what = "" if size <= _HASHED else f" of its first {_HASHED} bytes"
    return (
        f"{path} is no text, but {kind_of(head)}: {size} bytes.\n"
        f"SHA-256{of_what}: {digest.hexdigest()}\n"
        f"It begins with: {head[:_SHOWN].hex(' ')}"
    )


Read = Callable[[int, int], bytes]
"""Reads bytes of a file: how many, from an offset on. Fewer come only at its end."""

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
class FilePage:
    """A part of a file."""

    first: int
    """The number of its first line."""
    lines: tuple[str, ...]
    total: int
    """How many lines the file has."""
    next: tuple[int, int] | None
    """The line and the character to read on with; None at the end."""


def read_page(read: Read, size: int, wanted: Wanted) -> FilePage | None:
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
    return FilePage(first=first, lines=tuple(lines), total=total, next=further)


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


NOISE = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"}
    | {".ruff_cache", ".pytest_cache", ".cache"}
)
"""Folders that nobody means, unless they name them."""

_ERRORS = {kind.code: kind for kind in (NotFound, PathRefused, UsageError)}
_MOST_LISTED = 500
_LARGEST_EDIT = 16 << 20
_SEARCH = "long_running_agents.workspace.search"
_BOUNDS = subprocess.ProcessBounds(seconds=20.0, memory=1 << 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSearch:
    """What to look for in files."""

    pattern: str
    """A regular expression for lines; empty means that names are enough."""
    glob: str
    path: str
    ignore_case: bool
    most: int


def listed(workspace: Workspace, path: str, depth: int) -> str:
    """A folder, an entry in each line; noisy folders are named but not entered."""
    found = workspace.entries(path, depth=depth, most=_MOST_LISTED + 1, closed=NOISE)
    if not found:
        return f"{path} is empty."
    lines = [
        f"{entry.path}/" if entry.folder else f"{entry.path}  {entry.size} bytes"
        for entry in found[:_MOST_LISTED]
    ]
    if len(found) > _MOST_LISTED:
        lines.append(f"[Only {_MOST_LISTED} are shown: list a folder below, or less depth.]")
    return "\n".join(lines)


def shown(workspace: Workspace, path: str, wanted: Wanted) -> str:
    """A page of a file, its lines numbered; what is no text is described."""
    with workspace.opened(path, os.O_RDONLY) as file:
        size = os.fstat(file).st_size
        read = _reader(file)
        page = read_page(read, size, wanted)
        if page is None:
            return described(path, size, read)
    if not page.total:
        return f"{path} is empty."
    numbered = (f"{number}\t{line}" for number, line in enumerate(page.lines, page.first))
    return "\n".join([_heading(path, size, page), *numbered])


def _reader(file: int) -> Read:
    return lambda offset, count: os.pread(file, count, offset)


def _heading(path: str, size: int, page: FilePage) -> str:
    last = page.first + len(page.lines) - 1
    words = f"{path}: lines {page.first} to {last} of {page.total}, {size} bytes."
    if page.next is None:
        return words
    line, column = page.next
    where = f"offset_line={line}" + (f", offset_column={column}" if column > 1 else "")
    return f"{words} Read on with read_file(path={path!r}, {where})."


async def found(
    workspace: Workspace,
    wanted: FileSearch,
    clock: Clock,
    bounds: subprocess.ProcessBounds = _BOUNDS,
) -> str:
    """Files, or lines in them, one in each line."""
    request: Json = {
        "root": str(workspace.root),
        "hidden": sorted(workspace.hidden),
        "closed": sorted(NOISE),
        **asdict(wanted),
    }
    report = await subprocess.run(_SEARCH, request, bounds, clock)
    failed = next((line for line in report.lines if "error" in line), None)
    if failed is not None:
        kind = _ERRORS.get(failed["code"], UsageError)
        raise kind(str(failed["error"]), hint=str(failed["hint"]))
    hits = [line for line in report.lines if "path" in line]
    if not hits and report.cut_short:
        raise LimitReached(
            f"The search was ended: {report.cut_short}.",
            hint="Use a simpler pattern, or search fewer files.",
        )
    return "\n".join([*(_hit(hit) for hit in hits), *_remarks(hits, report)])


def _hit(hit: Json) -> str:
    if "line" not in hit:
        return f"{hit['path']}  {hit['size']} bytes"
    return f"{hit['path']}:{hit['line']}: {printable(str(hit['text']))}"


def _remarks(hits: list[Json], report: subprocess.ProcessReport) -> Iterator[str]:
    if report.cut_short:
        yield f"[These were found before the search was ended: {report.cut_short}.]"
        return
    about = report.lines[-1]
    if not hits:
        yield f"Nothing was found in {about['files']} files."
    if about["more"]:
        yield f"[Only {len(hits)} are shown: narrow the search, or raise the limit.]"
    if about["skipped"]:
        yield f"[{about['skipped']} files are no text or too large, and were not searched.]"


def written(workspace: Workspace, path: str, content: str, *, append: bool) -> str:
    """Write all of a file, or at its end."""
    data = content.encode("utf-8", "replace")
    if append:
        workspace.write(path, data, append=True)
        return f"Added {len(data)} bytes to {path}, which now has {workspace.size(path)}."
    workspace.replace(path, data)
    return f"Wrote {len(data)} bytes to {path}."


def exchange(workspace: Workspace, path: str, old: str, new: str, *, every: bool) -> str:
    """Replace a passage of a file."""
    count = _edit(workspace, path, lambda text: replaced(text, old, new, every=every))
    return f"Replaced {'one passage' if count == 1 else f'{count} passages'} in {path}."


def patch(workspace: Workspace, path: str, diff: str) -> str:
    """Apply a diff to a file."""
    count = _edit(workspace, path, lambda text: patched(text, diff))
    return f"Made {'one change' if count == 1 else f'{count} changes'} in {path}."


def _edit(workspace: Workspace, path: str, change: Callable[[str], tuple[str, int]]) -> int:
    counts: list[int] = []

    def changed(content: bytes) -> bytes:
        encoding = encoding_of(content, whole=True)
        if encoding is None:
            raise UsageError(f"{path!r} is no text.", hint="Write it anew, or use a program.")
        try:
            text, count = change(encoding.decoded(content))
            counts.append(count)
            return encoding.encoded(text)
        except UnicodeDecodeError as error:
            raise UsageError(f"{path!r} begins as {encoding.codec}, but is none.") from error
        except UnicodeEncodeError as error:
            strange = error.object[error.start]
            raise UsageError(
                f"{path!r} is written in {encoding.codec}, which has no {strange!r}.",
                hint="Use other characters, or write the file anew.",
            ) from error

    workspace.edit(path, changed, largest=_LARGEST_EDIT)
    return counts[0]
