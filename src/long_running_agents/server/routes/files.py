"""Files of the agent's folder: list, fetch, put, delete. No path leads out of it."""

import asyncio
import mimetypes
import posixpath
from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict

from long_running_agents.app import App
from long_running_agents.domain.token import Caller, Scope
from long_running_agents.domain.workspace import is_instruction
from long_running_agents.errors import NotFound
from long_running_agents.home import workspace_of
from long_running_agents.sandbox.workspace import Workspace, relative
from long_running_agents.server import bodies
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting, Reading, check
from long_running_agents.server.wire.shapes import Told

LARGEST = 64 << 20
"""Bytes of the largest file that can be put there."""

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


class FileTold(Told):
    """A file or folder."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"path": "notes/herons.md", "size": 120, "folder": False}}
    )

    path: str
    size: int
    folder: bool


class FileList(Told):
    """What is in a folder; links, devices and what usually holds secrets are left out."""

    path: str
    files: list[FileTold]
    truncated: bool
    """Whether there is more than is told."""


class FileRoutes:
    """The agent's folder, as far as its tools can reach."""

    def __init__(self, app: App) -> None:
        self._app = app

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/files", tags=["files"], route_class=JsonRoute)
        binary = {"schema": {"type": "string", "format": "binary"}}
        fetched = dict.fromkeys((_BINARY, *sorted(_SHOWN)), binary)
        body = {"requestBody": {"content": {_BINARY: binary}, "required": True}}
        put = {200: {"model": FileTold, "description": "It was there, and is replaced."}}
        router.get("")(self.list_folder)
        router.get("/content", response_class=Response, responses={200: {"content": fetched}})(
            self.fetch
        )
        router.put("/content", status_code=201, responses={**put}, openapi_extra=body)(self.put)
        router.delete("/content", status_code=204)(self.delete)
        return router

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
        told = [
            FileTold(path=each.path, size=each.size, folder=each.folder) for each in found[:_MOST]
        ]
        return FileList(path=path, files=told, truncated=len(found) > _MOST)

    async def fetch(
        self,
        caller: Reading,
        path: FilePath,
        inline: Annotated[
            bool, Query(description="Whether a browser may show it: plain text and images only.")
        ] = False,
    ) -> Response:
        """Download a file."""
        workspace = self._known(caller.owner)
        size = await asyncio.to_thread(workspace.size, path)
        kind = _kind(path)
        shown = inline and kind in _SHOWN
        name = quote(posixpath.basename(path.rstrip("/")).encode("utf-8", "replace"))
        how = "inline" if shown else "attachment"
        headers = {
            "Content-Disposition": f"{how}; filename*=UTF-8''{name}",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
        }
        pieces = _pieces(workspace, path, size)
        return StreamingResponse(pieces, 200, headers, kind if shown else _BINARY)

    async def put(
        self, caller: Chatting, path: FilePath, request: Request, answer: Response
    ) -> FileTold:
        """Upload a file: the body is what it shall hold."""
        _check(caller, path)
        workspace = self._app.hands.of(caller.owner).workspace
        content = await bodies.read(request, LARGEST)
        there = await asyncio.to_thread(_there, workspace, path)
        await asyncio.to_thread(workspace.replace, path, content)
        answer.status_code = 200 if there else 201
        return FileTold(path=posixpath.normpath(relative(path)), size=len(content), folder=False)

    async def delete(self, caller: Chatting, path: FilePath) -> None:
        """Delete a file, or an empty folder."""
        _check(caller, path)
        await asyncio.to_thread(self._known(caller.owner).remove, path)

    def _exists(self, owner: str) -> bool:
        return workspace_of(self._app.loaded, owner).is_dir()

    def _known(self, owner: str) -> Workspace:
        """The folder, which is not made for whoever only looks."""
        if not self._exists(owner):
            raise NotFound("There is no file yet.", hint="Upload one first.")
        return self._app.hands.of(owner).workspace


def _check(caller: Caller, path: str) -> None:
    """What tells the agent what to do is changed by those who may change its settings."""
    if is_instruction(posixpath.normpath(relative(path))):
        check(caller, Scope.ADMIN)


def _there(workspace: Workspace, path: str) -> bool:
    try:
        workspace.size(path)
    except NotFound:
        return False
    return True


def _kind(path: str) -> str:
    if path.lower().endswith(_TEXTS):
        return "text/plain"
    return mimetypes.guess_type(path)[0] or _BINARY


async def _pieces(workspace: Workspace, path: str, size: int) -> AsyncIterator[bytes]:
    for offset in range(0, size, _PIECE):
        yield await asyncio.to_thread(workspace.read, path, offset=offset, limit=_PIECE)
