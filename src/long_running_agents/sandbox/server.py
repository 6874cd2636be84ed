"""The sandbox server: `uvicorn long_running_agents.sandbox.server:app`, or `lra sandbox serve`."""

import asyncio
import base64
import binascii
import hmac
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from long_running_agents.clock import SystemClock
from long_running_agents.config import LoadedSettings, load
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError, UsageError
from long_running_agents.net import listen
from long_running_agents.sandbox import factory, remote
from long_running_agents.sandbox.base import ExecResult, SandboxSpec
from long_running_agents.sandbox.manager import Sandboxes

_LARGEST_BODY = 96 << 20
_WEAK = {"", "undefined", "null", "none", "changeme"}
_CALLS = {
    "execute": remote.ExecuteRequest,
    "shell": remote.ShellRequest,
    "call": remote.CallRequest,
}
_Asked = TypeVar("_Asked", bound=BaseModel)

logger = logging.getLogger(__name__)


class SandboxServer:
    """Answers for sandboxes that somebody else has opened."""

    def __init__(self, sandboxes: Sandboxes, usual: SandboxSpec) -> None:
        self._sandboxes = sandboxes
        self._usual = usual

    def routes(self) -> list[Route]:
        """What can be asked."""
        one = "/sandboxes/{id}"
        return [
            Route("/sandboxes", self._create, methods=["POST"]),
            Route("/sandboxes", self._list),
            Route(one, self._show),
            Route(one, self._destroy, methods=["DELETE"]),
            *(Route(f"{one}/{name}", self._run, methods=["POST"]) for name in _CALLS),
            Route(f"{one}/reset", self._reset, methods=["POST"]),
            Route(f"{one}/files", self._put_file, methods=["PUT"]),
            Route(f"{one}/files", self._get_file),
            Route("/health", self._health),
        ]

    async def _health(self, _: Request) -> Response:
        probe = await asyncio.to_thread(self._sandboxes.probe)
        return JSONResponse({"status": "ok", "probes": [asdict(probe)]})

    async def _create(self, request: Request) -> Response:
        asked = await _read(request, remote.CreateRequest)
        if asked.lang != "python":
            raise UsageError(f"Only python is spoken here, not {asked.lang!r}.")
        held = await self._sandboxes.create(remote.spec_within(asked, self._usual))
        return JSONResponse(remote.sandbox_json(held))

    async def _list(self, _: Request) -> Response:
        return JSONResponse([remote.sandbox_json(held) for held in self._sandboxes.every()])

    async def _show(self, request: Request) -> Response:
        return JSONResponse(remote.sandbox_json(self._sandboxes.find(_id(request))))

    async def _destroy(self, request: Request) -> Response:
        await self._sandboxes.destroy(_id(request))
        return JSONResponse({"id": _id(request), "status": "deleted"})

    async def _run(self, request: Request) -> Response:
        """Have a method of the sandbox run that is called as the last part of the path is."""
        name = request.url.path.rpartition("/")[2]
        asked = await _read(request, _CALLS[name])
        async with self._sandboxes.using(_id(request)) as sandbox:
            calling: Awaitable[ExecResult] = getattr(sandbox, name)(**dict(asked))
            result = await listen.while_connected(calling, request.receive)
        return (
            Response(status_code=499)
            if result is None
            else JSONResponse(remote.result_json(result))
        )

    async def _reset(self, request: Request) -> Response:
        async with self._sandboxes.using(_id(request)) as sandbox:
            await sandbox.reset()
        return JSONResponse({"id": _id(request), "status": "running"})

    async def _put_file(self, request: Request) -> Response:
        asked = await _read(request, remote.FileRequest)
        try:
            content = base64.b64decode(asked.content_b64, validate=True)
        except binascii.Error as error:
            raise UsageError("content_b64 is not base64.") from error
        async with self._sandboxes.using(_id(request)) as sandbox:
            await sandbox.put_file(asked.path, content)
        return JSONResponse({"path": asked.path, "bytes": len(content)})

    async def _get_file(self, request: Request) -> Response:
        path = request.query_params.get("path")
        async with self._sandboxes.using(_id(request)) as sandbox:
            if path is not None:
                content = await sandbox.get_file(path)
                return JSONResponse(
                    {"path": path, "content_b64": base64.b64encode(content).decode()}
                )
            folder = request.query_params.get("folder", ".")
            depth = request.query_params.get("depth", "1")
            if not depth.isdigit():
                raise UsageError("depth is a whole number.")
            found = await sandbox.list_files(folder, min(int(depth), 20))
        return JSONResponse([asdict(entry) for entry in found])


class _Guard:
    """Lets nobody in without the key, and nothing in that is too large."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            sent = headers.get(b"authorization", b"")
            if not hmac.compare_digest(sent, f"Bearer {self._key}".encode()):
                refusal = _refusal(401, "unauthorized", "The key is missing or wrong.")
                refusal.headers["WWW-Authenticate"] = "Bearer"
                await refusal(scope, receive, send)
                return
            length = headers.get(b"content-length", b"0")
            if not length.isdigit() or int(length) > _LARGEST_BODY:
                await _refusal(413, "too_large", "The request is too large.")(scope, receive, send)
                return
        await self._app(scope, receive, send)


def create_app(sandboxes: Sandboxes, usual: SandboxSpec, key: str) -> ASGIApp:
    """An application for sandboxes that are open; no client gets more than the usual."""
    if key.lower() in _WEAK:
        raise UsageError("A sandbox server needs a key.", hint=f"Set {factory.KEY}.")
    server = SandboxServer(sandboxes, usual)
    handlers = {LraError: _failed}
    return _Guard(Starlette(routes=server.routes(), exception_handlers=handlers), key)  # pyright: ignore[reportArgumentType]


def key_for(variables: Mapping[str, str]) -> str:
    """The key that clients need; a new one when none is set."""
    key = variables.get(factory.KEY, "")
    return secrets.token_urlsafe(24) if key.lower() in _WEAK else key


async def _read(request: Request, shape: type[_Asked]) -> _Asked:
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > _LARGEST_BODY:
            raise UsageError("The request is too large.")
    try:
        return shape.model_validate_json(bytes(raw) or b"{}")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise UsageError(f"{where}: {first['msg']}.") from error


def _id(request: Request) -> str:
    return str(request.path_params["id"])


async def _failed(_: Request, error: Exception) -> Response:
    if not isinstance(error, LraError):
        raise error
    return _refusal(error.http_status, error.code, error.message, error.hint)


def _refusal(status: int, code: str, message: str, hint: str = "") -> JSONResponse:
    body = {"type": "error", "error": code, "message": message, "hint": hint, "detail": message}
    return JSONResponse(body, status)


class _Whole:
    """The application that opens its own sandboxes when its server starts."""

    def __init__(self) -> None:
        self._inner: ASGIApp | None = None
        self._outer = Starlette(lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._inner is None:
            await self._outer(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        loaded = load()
        async with _opened(loaded, SystemClock()) as (inner, key):
            self._inner = inner
            if key != loaded.variables.get(factory.KEY):
                # The only way to hand it over; it is gone with this process.
                logger.warning("No %s is set. For this run it is: %s", factory.KEY, key)
            try:
                yield
            finally:
                self._inner = None


@asynccontextmanager
async def _opened(loaded: LoadedSettings, clock: Clock) -> AsyncGenerator[tuple[ASGIApp, str]]:
    """An application with sandboxes of its own, and the key that its clients need."""
    settings = factory.served(loaded.settings.sandbox)
    spec = factory.spec_of(settings, layers=loaded.home / factory.LAYERS)
    key = key_for(loaded.variables)
    async with factory.opened(settings, loaded.variables, clock, spec) as sandboxes:
        yield create_app(sandboxes, spec, key), key


app = _Whole()


async def serve(
    loaded: LoadedSettings,
    clock: Clock,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    ready: Callable[[str, str], None] | None = None,
) -> None:
    """Serve sandboxes until cancelled or interrupted."""
    async with _opened(loaded, clock) as (inner, key):

        def told(address: str) -> None:
            if ready is not None:
                ready(address, key)

        await listen.serve(inner, host, port, told)
