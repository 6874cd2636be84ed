"""Searching the files of a workspace by name and by what is written in them.

It runs as a bounded helper process: patterns come from a model, and some of them never end.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from long_running_agents.errors import LraError, NotFound, UsageError
from long_running_agents.sandbox.base import FileEntry, Json
from long_running_agents.sandbox.subprocess import serve
from long_running_agents.workspace.files import HEAD, encoding_of
from long_running_agents.workspace.workspace import Workspace

_PART = re.compile(
    r"""
      (?P<folders> (?:^|(?<=/)) \*\* (?:/|$))
    | (?P<star> \*+)
    | (?P<one> \?)
    | \[ (?P<not>[!^]?) (?P<set> \]?[^\]/]*) \]
    | \{ (?P<either> [^{}]*) \}
    | (?P<plain> .)
    """,
    re.VERBOSE | re.DOTALL,
)


def matcher(pattern: str) -> re.Pattern[str]:
    """A regular expression for the paths that a pattern means, from the folder searched on.

    ``*`` and ``?`` stay within a name, ``**`` is any number of folders, ``[a-z]`` is one character
    and ``{a,b}`` one of several words. A pattern without a slash means names in every folder.
    """
    pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    return re.compile("".join(_translated(part) for part in _PART.finditer(pattern)))


def _translated(part: re.Match[str]) -> str:
    found = part.groupdict()
    if found["folders"] is not None:
        return "(?:[^/]+/)*" if part.group().endswith("/") else ".*"
    if found["star"] is not None:
        return "[^/]*"
    if found["one"] is not None:
        return "[^/]"
    if found["set"] is not None:
        words = found["set"].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
        return f"[{'^' if found['not'] else ''}{words}]" if words else re.escape(part.group())
    if found["either"] is not None:
        # Each word may hold stars of its own, but no further braces.
        words = found["either"].split(",")
        return f"(?:{'|'.join(_within(word) for word in words)})"
    return re.escape(found["plain"])


def _within(word: str) -> str:
    return "".join(_translated(part) for part in _PART.finditer(word))


_LARGEST = 16 << 20
_SHOWN = 240
_BEFORE = 80
_MOST_FILES = 200_000


def search(request: Json) -> Iterator[Json]:
    """Find files, or lines in them; one answer for each, then how it went.

    The request has the workspace's root and hidden paths, the names of folders that stay closed,
    and path, glob, pattern, ignore_case and most.
    """
    workspace = Workspace(Path(request["root"]), hidden=request["hidden"])
    try:
        yield from _found(workspace, request)
    except LraError as error:
        yield {"error": error.message, "hint": error.hint, "code": error.code}


def _found(workspace: Workspace, request: Json) -> Iterator[Json]:
    wanted, most = _compiled(request), int(request["most"])
    counts = {"files": 0, "skipped": 0}
    hits = _hits(workspace, request, wanted, counts)
    yield from islice(hits, most)
    yield {**counts, "more": next(hits, None) is not None}


def _hits(
    workspace: Workspace, request: Json, wanted: re.Pattern[str] | None, counts: dict[str, int]
) -> Iterator[Json]:
    names = matcher(request["glob"])
    start = request["path"]
    for name, entry in islice(_files(workspace, start, request["closed"]), _MOST_FILES):
        if not names.fullmatch(name):
            continue
        counts["files"] += 1
        if wanted is None:
            yield {"path": entry.path, "size": entry.size}
            continue
        text = _text(workspace, entry)
        if text is None:
            counts["skipped"] += 1
            continue
        yield from _lines(entry.path, text, wanted)


def _compiled(request: Json) -> re.Pattern[str] | None:
    if not request["pattern"]:
        return None
    try:
        return re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"The pattern is no regular expression: {error}.",
            hint="Write \\ before characters that mean themselves, such as \\( or \\[.",
        ) from error


def _files(workspace: Workspace, start: str, closed: list[str]) -> Iterator[tuple[str, FileEntry]]:
    """Every file below a folder with its path from there; a file is below itself."""
    try:
        below = workspace.walk(start, closed=closed)
    except NotFound:
        size = workspace.size(start)
        yield start.rpartition("/")[2], FileEntry(path=start, size=size)
        return
    top = start.removeprefix("/workspace").strip("/").removeprefix("./")
    prefix = 0 if top in ("", ".") else len(top) + 1
    for entry in below:
        if not entry.folder:
            yield entry.path[prefix:], entry


def _text(workspace: Workspace, entry: FileEntry) -> str | None:
    """What is written in a file; None if it is too large, no text, or not for us."""
    if entry.size > _LARGEST:
        return None
    try:
        content = workspace.read(entry.path, limit=_LARGEST)
    except LraError:
        # A second name or a device took its place, or it is gone.
        return None
    encoding = encoding_of(content[:HEAD], whole=len(content) <= HEAD)
    if encoding is None:
        return None
    return content[len(encoding.mark) :].decode(encoding.codec, "replace")


def _lines(path: str, text: str, wanted: re.Pattern[str]) -> Iterator[Json]:
    for number, line in enumerate(text.split("\n"), 1):
        if found := wanted.search(line):
            start = max(0, found.start() - _BEFORE) if len(line) > _SHOWN else 0
            shown = line[start : start + _SHOWN].rstrip("\r")
            cut = ("…" if start else "", "…" if start + _SHOWN < len(line) else "")
            yield {"path": path, "line": number, "text": cut[0] + shown + cut[1]}


if __name__ == "__main__":
    serve(search)
