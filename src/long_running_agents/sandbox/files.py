"""What tools do with the files of a workspace, told in words."""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached, NotFound, PathRefused, UsageError
from long_running_agents.sandbox import errand
from long_running_agents.sandbox.editing import replaced
from long_running_agents.sandbox.encoding import encoding_of
from long_running_agents.sandbox.kinds import described
from long_running_agents.sandbox.patching import patched
from long_running_agents.sandbox.reading import Page, Read, Wanted, read_page
from long_running_agents.sandbox.result import Json, printable
from long_running_agents.sandbox.workspace import Workspace

NOISE = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"}
    | {".ruff_cache", ".pytest_cache", ".cache"}
)
"""Folders that nobody means, unless they name them."""

_ERRORS = {kind.code: kind for kind in (NotFound, PathRefused, UsageError)}
_MOST_LISTED = 500
_LARGEST_EDIT = 16 << 20
_SEARCH = "long_running_agents.sandbox.searching"
_BOUNDS = errand.Bounds(seconds=20.0, memory=1 << 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
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


def _heading(path: str, size: int, page: Page) -> str:
    last = page.first + len(page.lines) - 1
    words = f"{path}: lines {page.first} to {last} of {page.total}, {size} bytes."
    if page.next is None:
        return words
    line, column = page.next
    where = f"offset_line={line}" + (f", offset_column={column}" if column > 1 else "")
    return f"{words} Read on with read_file(path={path!r}, {where})."


async def found(
    workspace: Workspace, wanted: Search, clock: Clock, bounds: errand.Bounds = _BOUNDS
) -> str:
    """Files, or lines in them, one in each line."""
    request: Json = {
        "root": str(workspace.root),
        "hidden": sorted(workspace.hidden),
        "closed": sorted(NOISE),
        **asdict(wanted),
    }
    report = await errand.run(_SEARCH, request, bounds, clock)
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


def _remarks(hits: list[Json], report: errand.Report) -> Iterator[str]:
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


def written(workspace: Workspace, path: str, content: str) -> str:
    """Write all of a file."""
    data = content.encode("utf-8", "replace")
    workspace.replace(path, data)
    return f"Wrote {len(data)} bytes to {path}."


def appended(workspace: Workspace, path: str, content: str) -> str:
    """Write at the end of a file."""
    data = content.encode("utf-8", "replace")
    workspace.write(path, data, append=True)
    return f"Added {len(data)} bytes to {path}, which now has {workspace.size(path)}."


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
