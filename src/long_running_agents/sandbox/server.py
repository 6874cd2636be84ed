"""The sandbox server: `uvicorn long_running_agents.sandbox.server:app`, or `lra sandbox serve`."""

import asyncio
import base64
import binascii
import contextlib
import hmac
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from long_running_agents.clock import SystemClock
from long_running_agents.config import load
from long_running_agents.errors import LraError, UsageError
from long_running_agents.sandbox import opening, wire
from long_running_agents.sandbox.result import ExecResult
from long_running_agents.sandbox.sandboxes import Sandboxes
from long_running_agents.sandbox.spec import SandboxSpec

_LARGEST_BODY = 96 << 20
_WEAK = {"", "undefined", "null", "none", "changeme"}
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
            Route(f"{one}/execute", self._execute, methods=["POST"]),
            Route(f"{one}/shell", self._shell, methods=["POST"]),
            Route(f"{one}/call", self._call, methods=["POST"]),
            Route(f"{one}/reset", self._reset, methods=["POST"]),
            Route(f"{one}/files", self._put_file, methods=["PUT"]),
            Route(f"{one}/files", self._get_file),
            Route("/health", self._health),
        ]

    async def _health(self, _: Request) -> Response:
        probe = await asyncio.to_thread(self._sandboxes.probe)
        return JSONResponse({"status": "ok", "probes": [wire.probe_json(probe)]})

    async def _create(self, request: Request) -> Response:
        asked = await _read(request, wire.CreateRequest)
        if asked.lang != "python":
            raise UsageError(f"Only python is spoken here, not {asked.lang!r}.")
        held = await self._sandboxes.create(wire.spec_within(asked, self._usual))
        return JSONResponse(wire.sandbox_json(held))

    async def _list(self, _: Request) -> Response:
        return JSONResponse([wire.sandbox_json(held) for held in self._sandboxes.every()])

    async def _show(self, request: Request) -> Response:
        return JSONResponse(wire.sandbox_json(self._sandboxes.find(_id(request))))

    async def _destroy(self, request: Request) -> Response:
        await self._sandboxes.destroy(_id(request))
        return JSONResponse({"id": _id(request), "status": "deleted"})

    async def _execute(self, request: Request) -> Response:
        asked = await _read(request, wire.ExecuteRequest)
        async with self._sandboxes.using(_id(request)) as sandbox:
            return await _outcome(request, sandbox.execute(asked.code, asked.timeout))

    async def _shell(self, request: Request) -> Response:
        asked = await _read(request, wire.ShellRequest)
        async with self._sandboxes.using(_id(request)) as sandbox:
            return await _outcome(request, sandbox.shell(asked.command, asked.timeout))

    async def _call(self, request: Request) -> Response:
        asked = await _read(request, wire.CallRequest)
        async with self._sandboxes.using(_id(request)) as sandbox:
            calling = sandbox.call(
                asked.source, asked.function, asked.kwargs, asked.timeout, memory=asked.memory
            )
            return await _outcome(request, calling)

    async def _reset(self, request: Request) -> Response:
        async with self._sandboxes.using(_id(request)) as sandbox:
            await sandbox.reset()
        return JSONResponse({"id": _id(request), "status": "running"})

    async def _put_file(self, request: Request) -> Response:
        asked = await _read(request, wire.FileRequest)
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
        return JSONResponse([wire.entry_json(entry) for entry in found])


class _Guard:
    """Lets nobody in without the key, and nothing in that is too large."""

    def __init__(self, app: ASGIApp, key: Callable[[], str]) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            sent = headers.get(b"authorization", b"")
            if not hmac.compare_digest(sent, f"Bearer {self._key()}".encode()):
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
    """An application for sandboxes that are open already.

    Args:
        sandboxes: Where they are kept.
        usual: What a client gets that asks for nothing special, and the most it may ask for.
        key: What clients have to send as a bearer token.
    """
    if key.lower() in _WEAK:
        raise UsageError("A sandbox server needs a key.", hint=f"Set {opening.KEY}.")
    server = SandboxServer(sandboxes, usual)
    handlers = {LraError: _failed}
    return _Guard(Starlette(routes=server.routes(), exception_handlers=handlers), lambda: key)  # pyright: ignore[reportArgumentType]


def key_for(variables: Mapping[str, str]) -> str:
    """The key that clients need; a new one when none is set."""
    key = variables.get(opening.KEY, "")
    return secrets.token_urlsafe(24) if key.lower() in _WEAK else key


async def _outcome(request: Request, calling: Awaitable[ExecResult]) -> Response:
    """Wait for a call as long as somebody waits for us."""
    working = asyncio.ensure_future(calling)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
            return Response(status_code=499)
        return JSONResponse(wire.result_json(working.result()))
    finally:
        leaving.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
        settings = opening.served(loaded.settings.sandbox)
        spec = opening.spec_of(settings, layers=loaded.home / opening.LAYERS)
        key = key_for(loaded.variables)
        if key != loaded.variables.get(opening.KEY):
            # The only way to hand it over; it is gone with this process.
            logger.warning("No %s is set. For this run it is: %s", opening.KEY, key)
        async with opening.opened(settings, loaded.variables, SystemClock(), spec) as sandboxes:
            self._inner = create_app(sandboxes, spec, key)
            try:
                yield
            finally:
                self._inner = None


app = _Whole()
