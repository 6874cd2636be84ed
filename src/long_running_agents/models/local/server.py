"""The native model server: a local engine behind the chat-completions protocol."""

import asyncio
import contextlib
import hmac
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from long_running_agents import listening
from long_running_agents.clock import SystemClock
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError, UsageError
from long_running_agents.models.local import request as requests
from long_running_agents.models.local.answering import answer
from long_running_agents.models.local.completion import DONE, Completion, error_body, error_event
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Json,
    Piece,
    PromptRefused,
    TextEngine,
)
from long_running_agents.models.local.request import Call, ChatRequest

QUEUE = 8
"""Requests that may wait while one is answered."""

_RETRY_AFTER = 5
_LARGEST_BODY = 16 << 20
_EVENTS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]


class _Failure(Exception):
    """An error in the words of the protocol."""

    def __init__(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = headers

    def response(self) -> Response:
        return JSONResponse(self.body, self.status, headers=self.headers)


class ModelServer:
    """Answers one request at a time, and lets a few wait."""

    def __init__(
        self, engine: TextEngine, *, api_key: str | None, queue: int, clock: Clock
    ) -> None:
        self._engine = engine
        self._api_key = api_key
        self._room = queue + 1
        self._inside = 0
        self._turn = asyncio.Lock()
        self._clock = clock

    def app(self) -> Starlette:
        """The routes."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/health", self._health),
            ],
            exception_handlers={HTTPException: _not_served},
        )

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "waiting": max(0, self._inside - 1)})

    async def _models(self, request: Request) -> Response:
        if not self._allowed(request):
            return _unauthorized().response()
        model = {
            "id": self._engine.name,
            "object": "model",
            "created": 0,
            "owned_by": "local",
            "max_model_len": self._engine.context,
        }
        return JSONResponse({"object": "list", "data": [model]})

    async def _complete(self, request: Request) -> "Response | _Answering":
        try:
            if not self._allowed(request):
                raise _unauthorized()
            asked = await _read(request)
            self._enter()
        except _Failure as failure:
            return failure.response()
        created = int(self._clock.now().timestamp())
        completion = Completion(model=self._engine.name, created=created)
        return _Answering(asked, completion, self._engine, self._turn, self._leave)

    def _allowed(self, request: Request) -> bool:
        if self._api_key is None:
            return not _from_a_page(request)
        sent = request.headers.get("authorization", "").encode()
        return hmac.compare_digest(sent, f"Bearer {self._api_key}".encode())

    def _enter(self) -> None:
        if self._inside >= self._room:
            body = error_body(
                "The model is busy with other requests.", "rate_limit_error", "rate_limit_exceeded"
            )
            raise _Failure(429, body, {"Retry-After": str(_RETRY_AFTER)})
        self._inside += 1

    def _leave(self) -> None:
        self._inside -= 1


class _Answering:
    """A response that is made while its client listens, and no longer than that."""

    def __init__(
        self,
        asked: ChatRequest,
        completion: Completion,
        engine: TextEngine,
        turn: asyncio.Lock,
        leave: Callable[[], None],
    ) -> None:
        self._asked = asked
        self._completion = completion
        self._engine = engine
        self._turn = turn
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        try:
            work = self._stream(send) if self._asked.stream else self._whole(send)
            await _unless_gone(work, receive)
        finally:
            self._leave()

    async def _whole(self, send: Send) -> None:
        try:
            async with self._turn, aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    self._completion.add(piece)
        except _Failure as failure:
            await _send_json(send, failure)
            return
        body = json.dumps(self._completion.whole(), ensure_ascii=False).encode()
        await _start(send, 200, [(b"content-type", b"application/json")])
        await _body(send, body, last=True)

    async def _stream(self, send: Send) -> None:
        begun = False
        try:
            async with self._turn, aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    # Only now: until the engine has begun, a refusal can still have its status.
                    event = b"" if begun else self._completion.opening()
                    if not begun:
                        await _start(send, 200, _EVENTS)
                        begun = True
                    self._completion.add(piece)
                    await _body(send, event + self._completion.event(piece))
        except _Failure as failure:
            if not begun:
                await _send_json(send, failure)
                return
            await _body(send, error_event(failure.body), last=True)
            return
        usage = self._completion.usage_event() if self._asked.include_usage else b""
        await _body(send, usage + DONE, last=True)

    async def _pieces(self) -> AsyncGenerator[Piece | Call, None]:
        try:
            async with aclosing(answer(self._engine, self._asked)) as pieces:
                async for piece in pieces:
                    yield piece
        except ContextExceeded as error:
            body = error_body(str(error), code="context_length_exceeded")
            raise _Failure(400, body) from error
        except PromptRefused as error:
            raise _Failure(400, error_body(str(error))) from error
        except LraError as error:
            raise _Failure(
                error.http_status, error_body(str(error), "server_error", error.code)
            ) from error


async def _unless_gone(work: Awaitable[None], receive: Receive) -> None:
    working = asyncio.ensure_future(work)
    listening = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, listening}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        listening.cancel()
        if not working.done():
            working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening
    with contextlib.suppress(asyncio.CancelledError):
        await working


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read(request: Request) -> ChatRequest:
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > _LARGEST_BODY:
            raise _Failure(413, error_body("The request is too large."))
    try:
        return requests.read(json.loads(raw))
    except ValueError as error:
        raise _Failure(400, error_body("The body is not JSON.")) from error
    except UsageError as error:
        raise _Failure(400, error_body(str(error))) from error


def _from_a_page(request: Request) -> bool:
    # Any page in a browser can reach loopback, under a name of its own if it likes.
    return "origin" in request.headers or not listening.is_loopback(request.url.hostname or "")


def _unauthorized() -> _Failure:
    body = error_body("Incorrect API key provided.", "authentication_error", "invalid_api_key")
    return _Failure(401, body, {"WWW-Authenticate": "Bearer"})


async def _not_served(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse(error_body("There is nothing here for that."), status)


async def _send_json(send: Send, failure: _Failure) -> None:
    headers = [(b"content-type", b"application/json")]
    headers += [(k.encode(), v.encode()) for k, v in (failure.headers or {}).items()]
    await _start(send, failure.status, headers)
    await _body(send, json.dumps(failure.body).encode(), last=True)


async def _start(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _body(send: Send, body: bytes, *, last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not last})


def create_app(
    engine: TextEngine,
    *,
    api_key: str | None,
    queue: int = QUEUE,
    clock: Clock | None = None,
) -> Starlette:
    """An application that serves an engine.

    Args:
        engine: Runs the weights.
        api_key: What clients have to send as a bearer token; None lets everybody in.
        queue: How many requests may wait while one is answered.
        clock: Tells when an answer was made.
    """
    chosen = clock or SystemClock()
    return ModelServer(engine, api_key=api_key, queue=queue, clock=chosen).app()


async def serve(
    engine: TextEngine,
    host: str = "127.0.0.1",
    port: int = 8081,
    api_key: str | None = None,
    *,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve an engine until cancelled or interrupted.

    Args:
        engine: Runs the weights; it is unloaded in the end.
        host: The address to bind.
        port: The port to bind; 0 takes a free one.
        api_key: What clients have to send. Anything but loopback needs one.
        ready: Hears the address once the server answers.

    Raises:
        UsageError: The address can be reached from elsewhere, and there is no key.
    """
    if not api_key and not listening.is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and there is no key.",
            hint="Set a key, or bind to 127.0.0.1.",
        )

    def told(address: str) -> None:
        if ready is not None:
            ready(f"{address}/v1")

    try:
        await listening.serve(create_app(engine, api_key=api_key or None), host, port, told)
    finally:
        await engine.unload()
