"""The native model server: a local engine behind the chat-completions protocol."""

import asyncio
import hmac
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from long_running_agents.clock import SystemClock
from long_running_agents.errors import LraError, UsageError
from long_running_agents.models.chat_protocol import (
    DONE,
    ChatCall,
    ChatRequest,
    Completion,
    Json,
    call_json,
    error_json,
    event,
    read_request,
    usage_json,
)
from long_running_agents.models.local import tool_prompt
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Finished,
    Piece,
    PromptRefused,
    TextEngine,
    TextPiece,
)
from long_running_agents.net import listen


class _Answer:
    """One answer: its pieces one by one as chunks, or all of them together."""

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        self._words: list[str] = []
        self._calls: list[Json] = []
        self._finished: Finished | None = None

    def add(self, piece: Piece | ChatCall) -> bytes:
        """Take in one more piece; the event that tells of it."""
        match piece:
            case TextPiece(text=text):
                self._words.append(text)
                return self.completion.chunk({"content": text})
            case ChatCall():
                call = call_json(piece.id, piece.name, piece.arguments_text())
                self._calls.append(call)
                return self.completion.calls_chunk([call], len(self._calls) - 1)
            case Finished(reason=reason):
                self._finished = piece
                return self.completion.chunk({}, reason)

    def whole(self) -> Json:
        """The answer as one object."""
        text = "".join(self._words)
        message: Json = {"content": text or (None if self._calls else "")}
        if self._calls:
            message["tool_calls"] = self._calls
        reason = self._finished.reason if self._finished else "stop"
        return self.completion.whole(message, reason, self.usage())

    def usage(self) -> Json:
        """The tokens it took."""
        end = self._finished
        if end is None:
            return usage_json(0, 0, 0)
        return usage_json(end.prompt_tokens, end.completion_tokens, end.cached_tokens)


QUEUE = 8
"""Requests that may wait while one is answered."""

_RETRY_AFTER = 5
_LARGEST_BODY = 16 << 20
_EVENTS = {"headers": [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]}


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

    def __init__(self, engine: TextEngine, api_key: str | None) -> None:
        self._engine = engine
        self._api_key = api_key
        self._inside = 0
        self._turn = asyncio.Lock()
        self._clock = SystemClock()

    def app(self) -> Starlette:
        """The routes; without a key, for everybody on this machine."""
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
        return _Answering(asked, _Answer(completion), self._engine, self._turn, self._leave)

    def _allowed(self, request: Request) -> bool:
        if self._api_key is None:
            return not _from_a_page(request)
        sent = request.headers.get("authorization", "").encode()
        return hmac.compare_digest(sent, f"Bearer {self._api_key}".encode())

    def _enter(self) -> None:
        if self._inside > QUEUE:
            body = error_json(
                "The model is busy with other requests.", "rate_limit_error", "rate_limit_exceeded"
            )
            raise _Failure(429, body, {"Retry-After": str(_RETRY_AFTER)})
        self._inside += 1

    def _leave(self) -> None:
        self._inside -= 1


@dataclass(frozen=True, slots=True)
class _Answering:
    """A response that is made while its client listens, and no longer than that."""

    asked: ChatRequest
    answer: _Answer
    engine: TextEngine
    turn: asyncio.Lock
    leave: Callable[[], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def respond() -> None:
            work = self._stream(send) if self.asked.stream else self._whole()
            if (response := await work) is not None:
                await response(scope, receive, send)

        try:
            await listen.while_connected(respond(), receive)
        finally:
            self.leave()

    async def _whole(self) -> Response:
        try:
            async with self.turn, aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    self.answer.add(piece)
        except _Failure as failure:
            return failure.response()
        return JSONResponse(self.answer.whole())

    async def _stream(self, send: Send) -> Response | None:
        """Send the answer as it is made; what is answered instead when nothing is."""
        begun = False
        answer = self.answer
        try:
            async with self.turn, aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    # Only now: until the engine has begun, a refusal can still have its status.
                    if not begun:
                        await send({"type": "http.response.start", "status": 200, **_EVENTS})
                        await _body(send, answer.completion.opening())
                        begun = True
                    await _body(send, answer.add(piece))
        except _Failure as failure:
            if not begun:
                return failure.response()
            await _body(send, event(failure.body), last=True)
            return None
        usage = answer.completion.usage_chunk(answer.usage()) if self.asked.include_usage else b""
        await _body(send, usage + DONE, last=True)
        return None

    async def _pieces(self) -> AsyncGenerator[Piece | ChatCall, None]:
        try:
            async with aclosing(tool_prompt.answer(self.engine, self.asked)) as pieces:
                async for piece in pieces:
                    yield piece
        except ContextExceeded as error:
            body = error_json(str(error), code="context_length_exceeded")
            raise _Failure(400, body) from error
        except PromptRefused as error:
            raise _Failure(400, error_json(str(error))) from error
        except LraError as error:
            raise _Failure(
                error.http_status, error_json(str(error), "server_error", error.code)
            ) from error


async def _read(request: Request) -> ChatRequest:
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > _LARGEST_BODY:
            raise _Failure(413, error_json("The request is too large."))
    try:
        return read_request(json.loads(raw))
    except ValueError as error:
        raise _Failure(400, error_json("The body is not JSON.")) from error
    except UsageError as error:
        raise _Failure(400, error_json(str(error))) from error


def _from_a_page(request: Request) -> bool:
    # Any page in a browser can reach loopback, under a name of its own if it likes.
    return "origin" in request.headers or not listen.is_loopback(request.url.hostname or "")


def _unauthorized() -> _Failure:
    body = error_json("Incorrect API key provided.", "authentication_error", "invalid_api_key")
    return _Failure(401, body, {"WWW-Authenticate": "Bearer"})


async def _not_served(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse(error_json("There is nothing here for that."), status)


async def _body(send: Send, body: bytes, *, last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not last})


async def serve(
    engine: TextEngine,
    host: str = "127.0.0.1",
    port: int = 8081,
    api_key: str | None = None,
    *,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve an engine until cancelled or interrupted, then unload it; port 0 takes a free one."""
    if not api_key and not listen.is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and there is no key.",
            hint="Set a key, or bind to 127.0.0.1.",
        )

    def told(address: str) -> None:
        if ready is not None:
            ready(f"{address}/v1")

    try:
        await listen.serve(ModelServer(engine, api_key or None).app(), host, port, told)
    finally:
        await engine.unload()
