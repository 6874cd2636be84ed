"""Working with the files of the workspace."""

import asyncio
from typing import Annotated, Literal

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext

from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import NotConfigured, UsageError
from long_running_agents.sandbox import files
from long_running_agents.sandbox.reading import Wanted
from long_running_agents.sandbox.reserved import check_writable
from long_running_agents.sandbox.workspace import Workspace
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect

_LINES = 400
_CHARACTERS = 30_000
_MATCHES = 100

Depth = Annotated[int, Field(ge=1, le=20)]


def file_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    tools = FunctionToolset[TurnDeps](id="files")
    _add_listing(tools)
    _add_reading(tools)
    _add_searching(tools)
    _add_writing(tools)
    return tools


def _add_listing(tools: FunctionToolset[TurnDeps]) -> None:
    @tools.tool(metadata=effect(Effect.READ))
    async def list_files(ctx: RunContext[TurnDeps], path: str = ".", depth: Depth = 2) -> str:
        """List the files and folders of the workspace, with their sizes.

        Args:
            ctx: The turn that asks.
            path: The folder to begin with.
            depth: How many levels to list.
        """
        return await asyncio.to_thread(files.listed, workspace_of(ctx.deps), path, depth)

    @tools.tool(metadata=effect(Effect.READ, alias=True))
    async def list_directory(ctx: RunContext[TurnDeps], path: str = ".", depth: Depth = 2) -> str:
        """List a directory as a tree; another name for list_files.

        Args:
            ctx: The turn that asks.
            path: The folder to begin with.
            depth: How many levels to list.
        """
        return await asyncio.to_thread(files.listed, workspace_of(ctx.deps), path, depth)


def _add_reading(tools: FunctionToolset[TurnDeps]) -> None:
    @tools.tool(metadata=effect(Effect.READ))
    async def read_file(
        ctx: RunContext[TurnDeps],
        path: str,
        offset_line: int = 1,
        limit: Annotated[int, Field(ge=1, le=2000)] = _LINES,
        offset_column: Annotated[int, Field(ge=1)] = 1,
    ) -> str:
        """Read a text file, or a part of it; each line comes with its number and a tab before it.

        Args:
            ctx: The turn that asks.
            path: The file.
            offset_line: The first line to read; a negative one counts from the end.
            limit: How many lines to read.
            offset_column: The first character of that line, to read on in a very long one.
        """
        wanted = Wanted(
            line=offset_line or 1, column=offset_column, lines=limit, characters=_CHARACTERS
        )
        return await asyncio.to_thread(files.shown, workspace_of(ctx.deps), path, wanted)


def _add_searching(tools: FunctionToolset[TurnDeps]) -> None:
    @tools.tool(metadata=effect(Effect.READ))
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
            ctx: The turn that asks.
            pattern: A regular expression for lines; leave it out to find files by name only.
            glob: Which files, such as '*.py' or 'src/**/test_*.py'.
            path: The folder or file to search.
            ignore_case: Whether upper and lower case are the same.
            limit: How many matches.
        """
        wanted = files.Search(
            pattern=pattern, glob=glob, path=path, ignore_case=ignore_case, most=limit
        )
        return await files.found(workspace_of(ctx.deps), wanted, ctx.deps.clock)


def _add_writing(tools: FunctionToolset[TurnDeps]) -> None:
    # Whoever appends twice has it twice; overwriting again changes nothing.
    @tools.tool(
        metadata=effect(Effect.IDEMPOTENT, powers=[Power.CHANGE], once_unless={"mode": "overwrite"})
    )
    async def write_file(
        ctx: RunContext[TurnDeps],
        path: str,
        content: str,
        mode: Literal["overwrite", "append"] = "overwrite",
    ) -> str:
        """Write a text file, or add to its end; folders on the way are made.

        Args:
            ctx: The turn that asks.
            path: The file.
            content: What to write.
            mode: Whether to replace what is there, or to add to it.
        """
        check_writable(path)
        work = files.appended if mode == "append" else files.written
        return await asyncio.to_thread(work, workspace_of(ctx.deps), path, content)

    # An edit that is repeated may be done twice: the new text may hold the old one.
    @tools.tool(metadata=effect(Effect.ONCE, powers=[Power.CHANGE]))
    async def edit_file(
        ctx: RunContext[TurnDeps],
        path: str,
        old_text: str = "",
        new_text: str = "",
        replace_all: bool = False,
        diff: str = "",
    ) -> str:
        """Change a part of a text file: replace an exact passage, or apply a unified diff.

        Args:
            ctx: The turn that asks.
            path: The file.
            old_text: The passage as it is in the file, without line numbers; it must be there once.
            new_text: What comes in its place.
            replace_all: Replace the passage wherever it is.
            diff: A unified diff of this file, instead of the passage.
        """
        check_writable(path)
        if bool(diff) == bool(old_text):
            raise UsageError("Give either old_text and new_text, or a diff.")
        workspace = workspace_of(ctx.deps)
        if diff:
            return await asyncio.to_thread(files.patch, workspace, path, diff)
        return await asyncio.to_thread(
            files.exchange, workspace, path, old_text, new_text, every=replace_all
        )


def workspace_of(deps: TurnDeps) -> Workspace:
    """The workspace of a turn."""
    if deps.workspace is None:
        raise NotConfigured("There is no workspace.", hint="Set agent.workspace to a folder.")
    return deps.workspace
