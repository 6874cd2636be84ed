"""The web UI: the program that browsers run. It holds no data: for that, a token is needed."""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources

from fastapi import APIRouter, Request, Response

from long_running_agents.errors import NotFound

_ASSETS = "/assets/"
_OPEN = frozenset({"/", "/favicon.ico", "/favicon.svg"})
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_KINDS: Mapping[str, str] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    # Pictures that are made of what was fetched have no address of their own.
    " img-src 'self' data: blob:;"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
_SHORT = 1000
"""Bytes that are not worth packing."""


def is_window(method: str, path: str) -> bool:
    """Whether somebody asks for the program itself, for which nobody has to be known."""
    return method in ("GET", "HEAD") and (path in _OPEN or path.startswith(_ASSETS))


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the program, plain and packed."""

    content: bytes
    packed: bytes | None
    """With gzip; None where that does not help."""
    kind: str
    tag: str
    """Names the content, for browsers that have it already."""

    @classmethod
    def of(cls, name: str, content: bytes) -> "Asset":
        """A file, as it is sent."""
        ending = name.rpartition(".")[2]
        packed = gzip.compress(content, mtime=0) if len(content) > _SHORT else None
        # Weak: the packed form is the same thing.
        tag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(content, packed, _KINDS.get(ending, "application/octet-stream"), tag)


class UiRoutes:
    """The page at the root, and what it loads."""

    def __init__(self) -> None:
        self._known: dict[str, Asset] = {}

    def router(self) -> APIRouter:
        """What can be asked; none of it is a part of the API."""
        router = APIRouter(include_in_schema=False)
        asked = {"": self.page, "favicon.ico": self.icon, "favicon.svg": self.icon}
        for path, answer in {**asked, "assets/{name}": self.asset}.items():
            router.add_api_route(f"/{path}", answer, methods=["GET", "HEAD"])
        return router

    async def page(self, request: Request) -> Response:
        """The page."""
        return await self._answer(request, "index.html")

    async def icon(self, request: Request) -> Response:
        """The picture beside its title."""
        return await self._answer(request, "favicon.svg")

    async def asset(self, request: Request, name: str) -> Response:
        """A script or a style sheet."""
        if not _NAME.fullmatch(name):
            raise _missing()
        return await self._answer(request, f"assets/{name}")

    async def _answer(self, request: Request, name: str) -> Response:
        asset = await self._asset(name)
        headers = {
            "Content-Security-Policy": _POLICY,
            # Names stay the same when the program changes, so that browsers have to ask each time.
            "Cache-Control": "no-cache",
            "ETag": asset.tag,
            "Vary": "Accept-Encoding",
        }
        known = request.headers.get("if-none-match", "").split(",")
        if asset.tag in map(str.strip, known):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        content = asset.content
        if asset.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["Content-Encoding"] = asset.packed, "gzip"
        if request.method == "HEAD":
            headers["Content-Length"] = str(len(content))
            content = b""
        headers["Content-Type"] = asset.kind
        return Response(content, headers=headers)

    async def _asset(self, name: str) -> Asset:
        if name not in self._known:
            self._known[name] = Asset.of(name, await asyncio.to_thread(self._read, name))
        return self._known[name]

    def _read(self, name: str) -> bytes:
        folder = resources.files("long_running_agents.web") / "static"
        try:
            return folder.joinpath(*name.split("/")).read_bytes()
        except OSError:
            raise _missing() from None


def _missing() -> NotFound:
    return NotFound("There is no such file.", hint="Load the page again.")
