"""Files of the agent's folder, no path leading out of it, and the catalogue of tools."""

import asyncio
import mimetypes
import os
import posixpath
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from fnmatch import fnmatchcase
from io import FileIO
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from long_running_agents.app import App
from long_running_agents.config.settings import ToolSettings
from long_running_agents.domain.auth import Caller, TokenScope
from long_running_agents.domain.skill import SkillKind
from long_running_agents.domain.workspace import is_instruction
from long_running_agents.errors import Busy, NotFound
from long_running_agents.home import workspace_of
from long_running_agents.mcp.servers import McpServerStatus
from long_running_agents.server import http
from long_running_agents.server.auth import Administering, Chatting, Reading, check
from long_running_agents.server.http import Documented, Routes, route
from long_running_agents.server.wire import WireResponse, derived, example
from long_running_agents.store import taints
from long_running_agents.tools.catalog import ListedTool, listed, told
from long_running_agents.tools.files import UPLOAD
from long_running_agents.tools.mcp import definitions
from long_running_agents.workspace.workspace import Workspace, relative

LARGEST = 64 << 20
"""Bytes of the largest file that can be put there."""

LARGEST_CHARACTER = 64 << 10
"""Bytes of the largest SOUL.md or USER.md: every request to a model carries them."""

CHARACTER = ("soul.md", "user.md")
"""Who the agent is, and whom it works for."""

_PIECE = 1 << 20
_MOST = 5000
_BINARY = "application/octet-stream"
_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})
"""What a browser may show by itself: nothing that could bring a script along."""
_TEXTS = (".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".log", ".py", ".toml", ".yaml")

FilePath = Annotated[
    str,
    Query(min_length=1, max_length=1024, description="As seen from the folder: notes/herons.md"),
]


class FileResponse(WireResponse):
    """A file or folder."""

    model_config = example('{"path": "notes/herons.md", "size": 120, "folder": false}')

    path: str
    size: int
    folder: bool


class FileList(WireResponse):
    """What is in a folder; links, devices and what usually holds secrets are left out."""

    path: str
    files: list[FileResponse]
    truncated: bool
    """Whether there is more than is told."""


_BYTES = {"schema": {"type": "string", "format": "binary"}}
_FETCHED: Documented = {200: {"content": dict.fromkeys((_BINARY, *sorted(_SHOWN)), _BYTES)}}
_UPLOADED = {"requestBody": {"content": {_BINARY: _BYTES}, "required": True}}
_REPLACED: Documented = {
    200: {"model": FileResponse, "description": "It was there, and is replaced."}
}


class FileRoutes(Routes, tag="files"):
    """The agent's folder, as far as its tools can reach."""

    @route("GET /api/files")
    async def list_folder(
        self,
        caller: Reading,
        path: FilePath = ".",
        depth: Annotated[int, Query(ge=1, le=16, description="How many levels.")] = 1,
    ) -> FileList:
        """List a folder."""
        inside = relative(path)
        if not self._exists(caller.owner) and posixpath.normpath(inside) == ".":
            return FileList(path=path, files=[], truncated=False)
        workspace = self._known(caller.owner)
        found = await asyncio.to_thread(workspace.entries, path, depth=depth, most=_MOST + 1)
        told = [FileResponse.of(each) for each in found[:_MOST]]
        return FileList(path=path, files=told, truncated=len(found) > _MOST)

    @route("GET /api/files/content", response_class=Response, responses=_FETCHED)
    async def fetch(
        self,
        caller: Reading,
        path: FilePath,
        inline: Annotated[
            bool, Query(description="Whether a browser may show it: plain text and images only.")
        ] = False,
    ) -> Response:
        """Download a file."""
        workspace = self._known(caller.owner, path)
        file, about = await asyncio.to_thread(_opened, workspace, path)
        pieces = _pieces(file, about)
        # Before anything is said: one that is small and changes is refused in words.
        first = await anext(pieces, b"")
        text = path.lower().endswith(_TEXTS)
        kind = "text/plain" if text else mimetypes.guess_type(path)[0] or _BINARY
        shown = inline and kind in _SHOWN
        name = quote(posixpath.basename(path.rstrip("/")).encode("utf-8", "replace"))
        how = "inline" if shown else "attachment"
        headers = {
            "Content-Disposition": f"{how}; filename*=UTF-8''{name}",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Content-Length": str(about.st_size),
        }
        return StreamingResponse(_all(first, pieces), 200, headers, kind if shown else _BINARY)

    @route("PUT /api/files/content", status_code=201, responses=_REPLACED, openapi_extra=_UPLOADED)
    async def put(
        self, caller: Chatting, path: FilePath, request: Request, answer: Response
    ) -> FileResponse:
        """Upload a file: the body is what it shall hold."""
        _check(caller, path)
        workspace, character = self._place(caller.owner, path), _is_character(path)
        content = await http.read(request, LARGEST_CHARACTER if character else LARGEST)
        there = False
        with suppress(NotFound):
            there = await asyncio.to_thread(workspace.size, path) >= 0
        await asyncio.to_thread(workspace.replace, path, content)
        inside = posixpath.normpath(relative(path))
        uploaded = [] if character else [(inside, taints.digest(content))]
        await self._app.database.write(
            lambda tx: taints.note_file(tx, caller.owner, uploaded, UPLOAD)
        )
        answer.status_code = 200 if there else 201
        return FileResponse(path=inside, size=len(content), folder=False)

    @route("DELETE /api/files/content", status_code=204)
    async def delete(self, caller: Chatting, path: FilePath) -> None:
        """Delete a file, or an empty folder."""
        _check(caller, path)
        await asyncio.to_thread(self._known(caller.owner, path).remove, path)

    def _exists(self, owner: str) -> bool:
        return workspace_of(self._app.loaded, owner).is_dir()

    def _known(self, owner: str, path: str = ".") -> Workspace:
        """The folder, which is not made for whoever only looks."""
        if not self._exists(owner):
            raise NotFound("There is no file yet.", hint="Upload one first.")
        return self._place(owner, path)

    def _place(self, owner: str, path: str) -> Workspace:
        """Where a file lies: who the agent is stands in the home, wherever it works."""
        hands = self._app.hands.of(owner)
        return hands.folder if _is_character(path) else hands.workspace


def _is_character(path: str) -> bool:
    # Lower case, since some file systems take both for the same.
    return posixpath.normpath(relative(path)).lower() in CHARACTER


def _check(caller: Caller, path: str) -> None:
    """What tells the agent what to do is changed by those who may change its settings."""
    if is_instruction(posixpath.normpath(relative(path))):
        check(caller, TokenScope.ADMIN)


def _opened(workspace: Workspace, path: str) -> tuple[FileIO, os.stat_result]:
    """A file as it is now: whoever replaces it meanwhile leaves this one as it was."""
    with workspace.opened(path, os.O_RDONLY) as file:
        return FileIO(os.dup(file)), os.fstat(file)


async def _pieces(file: FileIO, about: os.stat_result) -> AsyncGenerator[bytes]:
    """All of a file, unless it is changed meanwhile: that would be neither the old nor the new."""
    with file:
        left = about.st_size
        while left > 0:
            piece = await asyncio.to_thread(file.read, min(left, _PIECE))
            now = os.fstat(file.fileno())
            if not piece or (now.st_mtime_ns, now.st_size) != (about.st_mtime_ns, about.st_size):
                raise Busy("The file is being changed.", hint="Try again in a moment.")
            left -= len(piece)
            yield piece


async def _all(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


Origin = Literal["built_in", "skill", "mcp"]
_KINDS: dict[str, Origin] = {"skill_tools": "skill", "mcp": "mcp"}


class ToolResponse(derived(ListedTool)):
    """A tool that the model may call."""

    model_config = example("""{"name": "list_tasks", "kind": "built_in", "family": "tasks",
      "description": "List this session's tasks, in the order they were made.",
      "parameters": {"type": "object", "properties": {}}, "effect": "read", "powers": [],
      "foreign": false, "enabled": true, "approval": "never"}""")

    kind: Origin
    """Whether it was shipped, made (a skill of the caller's that is in use), or is foreign."""
    approval: Literal["never", "sometimes", "always"]
    """Whether a person is asked before it runs."""


class ToolList(WireResponse):
    """Every built-in tool, the caller's skills in use, and tools of MCP servers."""

    tools: list[ToolResponse]


class ServerToolResponse(WireResponse):
    """A tool of an MCP server."""

    name: str
    """As the model knows it; as the server does where it is not offered."""
    description: str
    refused: str
    """Why it is not offered; empty when it is."""


class McpServerResponse(derived(McpServerStatus, without=("protocol", "listing"))):
    """An MCP server of mcp.json."""

    tools: list[ServerToolResponse]


class ServerList(WireResponse):
    """The MCP servers whose tools the agent may use."""

    servers: list[McpServerResponse]


class ToolRoutes(Routes, tag="tools"):
    """The catalogue."""

    @route("GET /api/tools")
    async def list_all(self, caller: Reading) -> ToolList:
        """List the tools that the model may call; idle MCP servers are started."""
        settings, redact = self._app.settings.agent.tools, self._app.loaded.redact
        tools = [
            ToolResponse.of(
                each,
                kind=_KINDS.get(each.family, "built_in"),
                description=redact(each.description),
                approval=_approval(each, settings),
            )
            for each in await offered(self._app, caller.owner)
        ]
        return ToolList(tools=tools)

    @route("GET /api/mcp")
    async def servers(self, _: Administering) -> ServerList:
        """Show the MCP servers with their tools, or why there are none; idle ones are started."""
        every = self._app.servers.each
        await asyncio.gather(*(server.tools() for server in every))
        return ServerList(servers=[self._server(each.status) for each in every])

    def _server(self, status: McpServerStatus) -> McpServerResponse:
        redact, listing = self._app.loaded.redact, status.listing
        tools = [
            ServerToolResponse(name=each.name, description=redact(each.description), refused="")
            for each in listing.offers
        ]
        tools += [
            ServerToolResponse(name=redact(each.tool), description="", refused=redact(each.reason))
            for each in listing.refused
        ]
        where, reason = redact(status.where), redact(status.reason)
        return McpServerResponse.of(status, where=where, reason=reason, tools=tools)


async def offered(app: App, owner: str) -> list[ListedTool]:
    """Every tool of an owner: built in, made, and of MCP servers that are ready in time."""
    found = list(listed(app.settings))
    if app.workshop is not None:
        library, made = app.workshop.library.of(owner), app.workshop.toolset
        found += [
            told(made.definition(each), "skill_tools", enabled=library.allows(each.name))
            for each in (await library.index()).of(SkillKind.FUNCTION)
        ]
    # They work with the keys of the home's owner, so that others do not have them.
    if owner == app.settings.owner:
        found += [told(each, "mcp", enabled=True) for each in await definitions(app.servers)]
    return found


def _approval(known: ListedTool, settings: ToolSettings) -> Literal["never", "sometimes", "always"]:
    """What the settings and the gate say of a tool, as far as that is known without a call."""
    if known.name in settings.require_approval:
        return "always"
    asking = any(
        rule.decision == "ask" and fnmatchcase(known.name, rule.tool) for rule in settings.rules
    )
    return "sometimes" if asking or known.powers else "never"
