"""The routes of the scripted model server."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, TypeAlias, assert_never, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from long_running_agents.testing import embeddings
from long_running_agents.testing.quirks import Body, Quirk, bent, refusal, remaining
from long_running_agents.testing.reply import (
    CutStream,
    Failure,
    Hang,
    MalformedJson,
    Reply,
    Status,
    estimate_tokens,
)
from long_running_agents.testing.script import Script, ServedFailures
from long_running_agents.testing.wire import Serving, error_body

MODEL = "scripted"

_BROKEN = b'{"id": "chatcmpl-broken", "object": "chat.completion", "choices": [{"ind'
_JSON = "application/json"
_EVENTS = "text/event-stream"
# Longer than any pause of a client, which would else find its idle connection closed.
_KEEP_ALIVE_SECONDS = 3600

Answer: TypeAlias = "Response | _Stream | _CutBody | _Silence"


class ModelApp:
    """What the server knows, and the routes that use it."""

    def __init__(
        self, script: Script, quirks: frozenset[Quirk], require_key: str | None, keep: int
    ) -> None:
        self.received: deque[bytes] = deque(maxlen=keep)
        self.embedded: deque[bytes] = deque(maxlen=keep)
        self._script = script
        self._served = ServedFailures()
        self._quirks = quirks
        self._require_key = require_key
        self._asgi = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/embeddings", self._embed, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/health", self._health),
                Route("/requests", self._requests),
                Route("/script", self._replace, methods=["POST"]),
            ]
        )

    def use(self, script: Script) -> None:
        """Answer by another script from now on, as if no failure had been served."""
        self._script = script
        self._served = ServedFailures()

    def server(self) -> uvicorn.Server:
        """An HTTP server for the routes that leaves signals and the loop to its caller."""
        config = uvicorn.Config(
            self._asgi,
            http="h11",
            ws="none",
            lifespan="off",
            # A cut connection is an error to uvicorn, and our purpose.
            log_config=None,
            log_level="critical",
            access_log=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
        config.load()
        server = uvicorn.Server(config)
        # What serve() does, without its signal handlers, which belong to the process.
        server.lifespan = config.lifespan_class(config)
        return server

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        if not self._allowed(request):
            return _error(401, "Incorrect API key provided.", code="invalid_api_key")
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "scripted"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _requests(self, _: Request) -> Response:
        # The bodies are JSON already: joining them is all it takes, however long they are.
        return Response(b"[" + b",".join(self.received) + b"]", media_type=_JSON)

    async def _replace(self, request: Request) -> Response:
        try:
            self.use(Script.from_json(await request.body()))
        except ValueError as error:
            return _error(400, str(error))
        return JSONResponse({"status": "ok"})

    async def _complete(self, request: Request) -> "Answer":
        if not self._allowed(request):
            return _error(401, "Incorrect API key provided.", code="invalid_api_key")
        raw = await request.body()
        body = _parsed(raw)
        if body is None:
            return _error(400, "The body is not a chat request: expected {'messages': [{…}, …]}.")
        self.received.append(raw)
        if (refused := refusal(body, self._quirks)) is not None:
            return _error(refused.status, refused.message)
        reply = self._script.reply_for(remaining(body["messages"], self._quirks), self._served)
        await asyncio.sleep(reply.delay)
        return self._answer(reply, body, estimate_tokens(len(raw)))

    async def _embed(self, request: Request) -> "Answer":
        """Vectors of shared words. The script's failures are served; its words are not needed."""
        if not self._allowed(request):
            return _error(401, "Incorrect API key provided.", code="invalid_api_key")
        raw = await request.body()
        self.embedded.append(raw)
        try:
            texts = embeddings.texts_in(raw)
        except ValueError as error:
            return _error(400, str(error))
        asked = [{"role": "user", "content": "\n".join(texts)}]
        reply = self._script.reply_for(asked, self._served)
        await asyncio.sleep(reply.delay)
        return _plain(reply.failure, embeddings.answer(texts, raw))

    def _allowed(self, request: Request) -> bool:
        if self._require_key is None:
            return True
        return request.headers.get("authorization") == f"Bearer {self._require_key}"

    def _answer(self, reply: Reply, body: Body, prompt_tokens: int) -> "Answer":
        streamed = bool(body.get("stream"))
        structured = bool(body.get("response_format"))
        serving = Serving(
            reply=bent(reply, self._quirks, streamed=streamed, structured=structured),
            model=str(body.get("model", MODEL)),
            quirks=self._quirks,
            prompt_tokens=prompt_tokens,
            include_usage=_wants_usage(body),
        )
        if streamed and not isinstance(reply.failure, Status | Hang):
            return _Stream(serving)
        return _plain(reply.failure, serving.completion())


class _Stream:
    """A response that streams events, and stops in the middle of one when it is to be cut."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await _start(send, [(b"content-type", _EVENTS.encode())])
        async for event in self._events():
            await _more(send, event)
        # Returning without the last body part makes the server drop the connection.
        if not isinstance(self._serving.reply.failure, CutStream):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self) -> AsyncIterator[bytes]:
        serving, failure = self._serving, self._serving.reply.failure
        yield serving.opening()
        if isinstance(failure, MalformedJson):
            yield b"data: " + _BROKEN + b"\n\n"
        for count, event in enumerate(serving.content()):
            if isinstance(failure, CutStream) and count == failure.after_chunks:
                yield event[: len(event) // 2]
                return
            if count:
                await asyncio.sleep(serving.reply.chunk_delay)
            yield event
        closing = serving.closing()
        yield closing[: len(closing) // 2] if isinstance(failure, CutStream) else closing


class _CutBody:
    """A response that promises more bytes than it sends."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        length = str(len(self._body)).encode()
        await _start(send, [(b"content-type", _JSON.encode()), (b"content-length", length)])
        await _more(send, self._body[: len(self._body) // 2])


class _Silence:
    """A response that never comes: it ends when the client has gone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        while (await receive())["type"] != "http.disconnect":
            pass


def _parsed(raw: bytes) -> Body | None:
    try:
        data = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    body = cast("dict[str, Any]", data)
    messages = body.get("messages")
    if not isinstance(messages, list):
        return None
    listed = cast("list[object]", messages)
    return body if all(isinstance(message, dict) for message in listed) else None


def _wants_usage(body: Body) -> bool:
    options: Body = body.get("stream_options") or {}
    return bool(options.get("include_usage"))


def _plain(failure: Failure | None, body: bytes) -> "Answer":
    """An answer in one piece, or what the script puts in its place."""
    match failure:
        case Status() as status:
            return _failed(status)
        case Hang():
            return _Silence()
        case CutStream():
            return _CutBody(body)
        case MalformedJson():
            return Response(_BROKEN, media_type=_JSON)
        case None:
            return Response(body, media_type=_JSON)
        case _:
            assert_never(failure)


def _failed(status: Status) -> Response:
    wait = {} if status.retry_after is None else {"retry-after": f"{status.retry_after:g}"}
    return Response(
        error_body(status.message, "scripted_failure"),
        status_code=status.code,
        headers=wait,
        media_type=_JSON,
    )


def _error(status: int, message: str, code: str | None = None) -> Response:
    return Response(error_body(message, code=code), status_code=status, media_type=_JSON)


async def _start(send: Send, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _more(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
