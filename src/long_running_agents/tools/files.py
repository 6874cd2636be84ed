"""The tools for files and tables of the workspace, and whose words a file holds: its taint."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext, Tool

from long_running_agents.domain.taint import QuotedWords
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import LraError, NotConfigured, UsageError
from long_running_agents.store import taints
from long_running_agents.store.database import Transaction
from long_running_agents.tools.deps import TurnDeps, effect
from long_running_agents.workspace import files
from long_running_agents.workspace.files import Wanted
from long_running_agents.workspace.tables import Condition, Look, TableQuery
from long_running_agents.workspace.tables import view as looked_at
from long_running_agents.workspace.workspace import Workspace, check_writable

_LINES = 400
_CHARACTERS = 30_000
_MATCHES = 100

Depth = Annotated[int, Field(ge=1, le=20)]


def file_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    # Whoever appends twice has it twice; overwriting again changes nothing. An edit that is
    # repeated may be done twice: the new text may hold the old one.
    writing = effect(Effect.IDEMPOTENT, powers=[Power.CHANGE], once_unless={"mode": "overwrite"})
    also = "List a directory as a tree; another name for list_files."
    alias = effect(Effect.READ, alias="list_files")
    return FunctionToolset(
        [
            Tool(list_files, metadata=effect(Effect.READ)),
            Tool(list_files, name="list_directory", description=also, metadata=alias),
            Tool(read_file, metadata=effect(Effect.READ)),
            Tool(search_files, metadata=effect(Effect.READ)),
            Tool(write_file, metadata=writing),
            Tool(edit_file, metadata=effect(Effect.ONCE, powers=[Power.CHANGE])),
        ],
        id="files",
    )


async def list_files(ctx: RunContext[TurnDeps], path: str = ".", depth: Depth = 2) -> str:
    """List the files and folders of the workspace, with their sizes.

    Args:
        path: The folder.
        depth: How many levels.
    """
    return await asyncio.to_thread(files.listed, workspace_of(ctx.deps), path, depth)


async def read_file(
    ctx: RunContext[TurnDeps],
    path: str,
    offset_line: int = 1,
    limit: Annotated[int, Field(ge=1, le=2000)] = _LINES,
    offset_column: Annotated[int, Field(ge=1)] = 1,
) -> str:
    """Read a text file; each line begins with its number and a tab.

    Args:
        path: The file.
        offset_line: The first line; a negative one counts from the end.
        limit: How many lines.
        offset_column: For very long lines.
    """
    wanted = Wanted(
        line=offset_line or 1, column=offset_column, lines=limit, characters=_CHARACTERS
    )
    shown = await asyncio.to_thread(files.shown, workspace_of(ctx.deps), path, wanted)
    await taint_by_reading(ctx.deps, ctx.tool_call_id, [path])
    return shown


async def search_files(
    ctx: RunContext[TurnDeps],
    pattern: str = "",
    glob: str = "**",
    path: str = ".",
    ignore_case: bool = False,
    limit: Annotated[int, Field(ge=1, le=1000)] = _MATCHES,
) -> str:
    """Find files by name, or lines in files by a regular expression.

    Args:
        pattern: A regular expression.
        glob: Such as '*.py' or 'src/**/test_*.py'.
        path: Where to search.
        ignore_case: Ignore upper case.
        limit: How many matches.
    """
    wanted = files.FileSearch(
        pattern=pattern, glob=glob, path=path, ignore_case=ignore_case, most=limit
    )
    found = await files.found(workspace_of(ctx.deps), wanted, ctx.deps.clock)
    if pattern:
        named = [line.partition(":")[0] for line in found.splitlines()]
        await taint_by_reading(ctx.deps, ctx.tool_call_id, named)
    return found


async def write_file(
    ctx: RunContext[TurnDeps],
    path: str,
    content: str,
    mode: Literal["overwrite", "append"] = "overwrite",
) -> str:
    """Write a text file, or add to its end.

    Args:
        path: The file.
        content: What to write.
        mode: Replace, or add to.
    """
    check_writable(path)
    appends = mode == "append"
    before = await foreign_source(ctx.deps, path) if appends else ""
    workspace = workspace_of(ctx.deps)
    told = await asyncio.to_thread(files.written, workspace, path, content, append=appends)
    await note_written(ctx.deps, [path], before)
    return told


async def edit_file(
    ctx: RunContext[TurnDeps],
    path: str,
    old_text: str = "",
    new_text: str = "",
    replace_all: bool = False,
    diff: str = "",
) -> str:
    """Change a text file: replace an exact passage, or apply a unified diff.

    Args:
        path: The file.
        old_text: The passage, without line numbers; it must be there once.
        new_text: What replaces it.
        replace_all: Replace it everywhere.
        diff: A unified diff.
    """
    check_writable(path)
    if bool(diff) == bool(old_text):
        raise UsageError("Give either old_text and new_text, or a diff.")
    workspace = workspace_of(ctx.deps)
    before = await foreign_source(ctx.deps, path)
    if diff:
        told = await asyncio.to_thread(files.patch, workspace, path, diff)
    else:
        told = await asyncio.to_thread(
            files.exchange, workspace, path, old_text, new_text, every=replace_all
        )
    await note_written(ctx.deps, [path], before)
    return told


def workspace_of(deps: TurnDeps) -> Workspace:
    """The workspace of a turn."""
    if deps.workspace is None:
        raise NotConfigured("There is no workspace.", hint="Set agent.workspace to a folder.")
    return deps.workspace


def data_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    return FunctionToolset([Tool(data_view, metadata=effect(Effect.READ))], id="data_view")


async def data_view(
    ctx: RunContext[TurnDeps],
    path: str,
    view: Literal["head", "tail", "sample", "describe"] = "head",
    rows: Annotated[int, Field(ge=1, le=200)] = 10,
    columns: list[str] | None = None,
    where: list[Condition] | None = None,
    order_by: str = "",
    sheet: str = "",
) -> str:
    """Look at a table of any size: its shape, columns and types, and some rows.

    CSV, TSV, JSON lines, Parquet, Excel.

    Args:
        path: The file.
        view: Rows, or a summary.
        rows: How many rows.
        columns: Only these columns.
        where: Conditions on the rows.
        order_by: A column; '-name' for the largest first.
        sheet: Of a workbook.
    """
    question = TableQuery(
        look=Look(view),
        rows=rows,
        columns=tuple(columns or ()),
        where=tuple(where or ()),
        order_by=order_by,
        sheet=sheet,
    )
    shown = await looked_at(workspace_of(ctx.deps), path, question, ctx.deps.clock)
    await taint_by_reading(ctx.deps, ctx.tool_call_id, [path])
    return shown


UPLOAD = "upload"
_MOST_FILES = 50
_MOST_WALKED = 10_000
_LARGEST_PRINTED = 1 << 20
_NOTHING = QuotedWords(())


async def taint_by_reading(deps: TurnDeps, call_id: str | None, paths: Iterable[str]) -> None:
    """Taint the session with what it reads in files, as far as a stranger wrote it."""
    named = list(islice(dict.fromkeys(paths), _MOST_FILES))
    found = await asyncio.to_thread(_digests, deps.workspace, named)
    foreign = await deps.database.read(
        lambda tx: taints.of(tx, deps.owner, [known_by for _, known_by in found])
    )
    for path, known_by in found:
        if known_by in foreign or not deps.trusted:
            await deps.taint(f"file:{path}", call_id or "")
        if ":" in (source := foreign.get(known_by, "")):
            await deps.taint(source, call_id or "")


async def foreign_source(deps: TurnDeps, path: str) -> str:
    """Where the foreign words in a file come from; empty when there are none."""
    found = await asyncio.to_thread(_digests, deps.workspace, [path])
    known = await deps.database.read(
        lambda tx: taints.of(tx, deps.owner, [known_by for _, known_by in found])
    )
    return next(iter(known.values()), "")


async def note_written(deps: TurnDeps, paths: Sequence[str], before: str = "") -> None:
    """Note whose words files hold that were just written.

    Args:
        before: Where foreign words come from that are in them, whatever the session has read.
    """
    found = await asyncio.to_thread(_digests, deps.workspace, paths)

    def work(tx: Transaction) -> None:
        read = taints.sources(tx, deps.turn.session_id)
        if source := before or (read[-1] if read else ""):
            taints.note_file(tx, deps.owner, found, source)

    await deps.database.write(work)


async def after_code(
    deps: TurnDeps, call_id: str | None, told: str, since: float, *, online: str
) -> None:
    """Look after what code has read and written.

    Nobody sees which files code opens. What it prints of a foreign one is recognised by its words:
    until then no stranger has spoken to the model, so nothing was hidden on purpose.

    Args:
        told: What the code printed.
        since: When it began, as the file system tells the time.
        online: Where foreign words come from if the code could fetch some; empty when it could not.
    """
    if (workspace := deps.workspace) is None:
        return
    paths, read = await deps.database.read(
        lambda tx: (
            taints.newest(tx, deps.owner, _MOST_FILES),
            taints.sources(tx, deps.turn.session_id),
        )
    )
    shown = await asyncio.to_thread(_printed, workspace, paths, told)
    if not deps.trusted:
        await deps.taint("tool:code in a workspace that is not trusted", call_id or "")
    if shown:
        await taint_by_reading(deps, call_id, shown)
    if read or shown or online or not deps.trusted:
        changed = await asyncio.to_thread(_changed, workspace, since)
        await note_written(deps, changed, online)


def _digests(workspace: Workspace | None, paths: Iterable[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in paths:
        try:
            if workspace is not None:
                found.append((path, taints.digest(workspace.read(path))))
        except LraError:
            # It is gone, or no file: then nobody has read it.
            continue
    return found


def _printed(workspace: Workspace, paths: Iterable[str], told: str) -> list[str]:
    """The files whose words were printed."""
    found: list[str] = []
    for path in paths:
        try:
            content = workspace.read(path, limit=_LARGEST_PRINTED).decode("utf-8", "replace")
        except LraError:
            continue
        if QuotedWords([content]).lend(told, _NOTHING):
            found.append(path)
    return found


def _changed(workspace: Workspace, since: float) -> list[str]:
    """The files that were written since a moment; the time of a change cannot be set back."""
    found: list[str] = []
    for entry in islice(workspace.walk(), _MOST_WALKED):
        try:
            about = (workspace.root / entry.path).lstat()
        except OSError:
            continue
        if not entry.folder and about.st_ctime >= since:
            found.append(entry.path)
    return found
