"""The scripted model server: its routes, its answers on the wire, and the quirks that bend them."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never, cast
from uuid import uuid4

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from long_running_agents.domain.json_schema import nodes
from long_running_agents.models.chat_protocol import (
    DONE,
    Completion,
    Json,
    call_json,
    completion_id,
    error_json,
    table,
    usage_json,
)
from long_running_agents.net.listen import configured
from long_running_agents.testing.script import (
    CutStream,
    Failure,
    Hang,
    MalformedJson,
    Message,
    Quirk,
    Reply,
    Script,
    ServedFailures,
    Status,
    ToolCall,
    estimate_tokens,
    split,
)

CONTEXT_TOKENS = 4096
"""What a server with `SILENT_TRUNCATION` can hold."""
# Answers must not differ from run to run, so they are all of one moment.
_CREATED = 1_767_225_600


@dataclass(frozen=True, slots=True)
class Refusal:
    """The HTTP error that a quirk answers a request with."""

    status: int
    message: str


def refusal(body: Json, quirks: frozenset[Quirk]) -> Refusal | None:
    """Why a server with these quirks refuses the request, if it does."""
    for quirk in quirks:
        if quirk in _REFUSED and _REFUSED[quirk][0](body):
            return _REFUSED[quirk][1]
        if quirk in _CHECKS and (found := _CHECKS[quirk](body)) is not None:
            return found
    return None


def bent(reply: Reply, quirks: frozenset[Quirk], *, streamed: bool, structured: bool) -> Reply:
    """The reply as a server with these quirks sorts it into text, thinking and calls."""
    if Quirk.NO_STREAMED_CALLS in quirks and streamed and reply.calls:
        return replace(reply, text="", thinking="", calls=())
    if Quirk.SCHEMA_NOT_ENFORCED in quirks and structured and reply.text:
        reply = replace(
            reply, text=f"Here is the JSON you asked for:\n```json\n{reply.text}\n```\n"
        )
    for quirk, write in _WRITERS.items():
        if quirk in quirks and reply.calls:
            lines = [reply.text, *(write(call) for call in reply.calls)]
            reply = replace(reply, text="\n".join(filter(None, lines)), calls=())
    if Quirk.THINK_IN_CONTENT in quirks and reply.thinking:
        text = f"<think>\n{reply.thinking}\n</think>\n\n{reply.text}"
        reply = replace(reply, text=text, thinking="")
    if Quirk.ANSWER_IN_REASONING in quirks and reply.text and not reply.calls:
        reply = replace(reply, text="", thinking=f"{reply.thinking}{reply.text}")
    return reply


def remaining(messages: Sequence[Message], quirks: frozenset[Quirk]) -> Sequence[Message]:
    """The part of the history that reaches the model."""
    if Quirk.SILENT_TRUNCATION not in quirks:
        return messages
    room = CONTEXT_TOKENS
    kept: list[Message] = []
    for message in reversed(messages):
        room -= estimate_tokens(len(json.dumps(message)))
        # The newest message is answered even when it alone is too long.
        if room < 0 and kept:
            break
        kept.append(message)
    return kept[::-1]


def _json_call(call: ToolCall) -> str:
    return json.dumps({"name": call.tool, "arguments": call.args}, ensure_ascii=False)


_WRITERS: dict[Quirk, Callable[[ToolCall], str]] = {
    Quirk.CALLS_AS_TEXT_FENCE: lambda call: f"```json\n{_json_call(call)}\n```",
    Quirk.CALLS_AS_TEXT_TAG: lambda call: f"<tool_call>\n{_json_call(call)}\n</tool_call>",
    Quirk.CALLS_AS_TEXT_FUNCTION: lambda call: (
        f"<function={call.tool}>{json.dumps(call.args, ensure_ascii=False)}</function>"
    ),
}


def _messages(body: Json) -> list[Json]:
    return cast("list[Json]", body["messages"])


def _calls(message: Json) -> list[Json]:
    return cast("list[Json]", message.get("tool_calls") or [])


def _any(test: Callable[[Json], object]) -> Callable[[Json], object]:
    """Whether some message of a request is like that."""
    return lambda body: any(map(test, _messages(body)))


def _nameless(message: Json) -> bool:
    nameless = any(not call.get("id") for call in _calls(message))
    return nameless or (message.get("role") == "tool" and not message.get("tool_call_id"))


def _empty_assistant(body: Json) -> bool:
    last = _messages(body)[-1] if _messages(body) else Json()
    return last.get("role") == "assistant" and not last.get("content") and not _calls(last)


def _hard_schema(body: Json) -> bool:
    parts = nodes([body.get("tools"), body.get("response_format")])
    return any(_hard(cast("Json", part)) for part, _ in parts if isinstance(part, dict))


def _hard(schema: Json) -> bool:
    options: list[Json] = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]
    return "$ref" in schema or any(set(option) == {"required"} for option in options)


_NULL_ID = Refusal(500, "type must be string, but is null")
_NO_AUTO = Refusal(
    400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'
)

_REFUSED: dict[Quirk, tuple[Callable[[Json], object], Refusal]] = {
    Quirk.EMPTY_CALL_ID: (_any(_nameless), _NULL_ID),
    Quirk.MISSING_CALL_ID: (_any(_nameless), _NULL_ID),
    Quirk.CONTENT_AND_THINKING_REFUSED: (
        _any(lambda each: _calls(each) and each.get("content") and each.get("reasoning_content")),
        Refusal(
            500,
            "Cannot pass both content and thinking in an assistant message with tool calls! "
            "Put the analysis message in one or the other, but not both.",
        ),
    ),
    Quirk.CONTENT_NULL_REFUSED: (
        _any(lambda each: each.get("content") is None),
        Refusal(400, "invalid message content type: <nil>"),
    ),
    Quirk.NO_SYSTEM_ROLE: (
        _any(lambda each: each.get("role") in {"system", "developer"}),
        Refusal(400, "System role not supported"),
    ),
    Quirk.ONE_SYSTEM_MESSAGE: (
        lambda body: any(each.get("role") == "system" for each in _messages(body)[1:]),
        Refusal(400, "System message must be at the beginning."),
    ),
    Quirk.EMPTY_ASSISTANT_REFUSED: (
        _empty_assistant,
        Refusal(400, "Assistant response prefill is incompatible with enable_thinking."),
    ),
    Quirk.TOOL_CHOICE_REFUSED: (lambda body: body.get("tool_choice") == "auto", _NO_AUTO),
    Quirk.AUTO_CHOICE_IMPLIED: (
        lambda body: body.get("tools") and body.get("tool_choice", "auto") == "auto",
        _NO_AUTO,
    ),
    Quirk.REQUIRED_CHOICE_REFUSED: (
        lambda body: body.get("tool_choice") == "required",
        Refusal(400, 'Invalid value for `tool_choice`: "required" is not supported'),
    ),
    Quirk.SCHEMA_KEYWORDS_REFUSED: (
        _hard_schema,
        Refusal(400, "JSON schema conversion failed: unrecognized schema"),
    ),
}
"""What some servers refuse, and in which words."""


def _strict_roles(body: Json) -> Refusal | None:
    before = "system"
    for message in _messages(body):
        role = str(message.get("role"))
        if role not in _MAY_FOLLOW.get(before, ()):
            return Refusal(
                400,
                f"Conversation roles must alternate user/assistant/user/assistant/...: "
                f"{role!r} came after {before!r}.",
            )
        before = "calling assistant" if _calls(message) else role
    if before not in {"user", "tool"}:
        return Refusal(400, f"Expected last role User or Tool for serving but got {before}.")
    return None


_MAY_FOLLOW: dict[str, tuple[str, ...]] = {
    "system": ("system", "user"),
    "user": ("assistant",),
    "assistant": ("user",),
    "calling assistant": ("tool",),
    "tool": ("tool", "assistant"),
}


def _unanswered(body: Json) -> Refusal | None:
    waiting: set[str] = set()
    for message in [*_messages(body), Json()]:
        if message.get("role") == "tool":
            waiting.discard(str(message.get("tool_call_id")))
            continue
        if waiting:
            missing = ", ".join(sorted(waiting))
            return Refusal(400, f"These tool_call_ids did not have response messages: {missing}")
        waiting = {str(call.get("id")) for call in _calls(message)}
    return None


def _tools(body: Json) -> Refusal | None:
    if body.get("tools"):
        return Refusal(400, f"{body.get('model', 'this model')} does not support tools")
    return None


_CHECKS: dict[Quirk, Callable[[Json], Refusal | None]] = {
    Quirk.STRICT_ROLES: _strict_roles,
    Quirk.UNANSWERED_CALL_REFUSED: _unanswered,
    Quirk.TOOLS_REFUSED: _tools,
}
"""Refusals whose words depend on the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """One reply with all that its wire form depends on."""

    reply: Reply
    """The reply, already bent by the quirks."""
    completion: Completion
    quirks: frozenset[Quirk]
    """How the server departs from the protocol."""
    prompt_tokens: int
    """The estimated size of the request."""
    include_usage: bool
    """Whether a stream ends with a chunk of usage."""

    def whole(self) -> bytes:
        """The whole answer in one body."""
        reply = self.reply
        message: Json = {"content": reply.text or None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls or Quirk.EMPTY_TOOL_CALLS_LIST in self.quirks:
            message["tool_calls"] = [self._whole_call(call) for call in reply.calls]
        usage = None if Quirk.NO_USAGE in self.quirks else self._usage()
        return json.dumps(self.completion.whole(message, self._finish_reason(), usage)).encode()

    def opening(self) -> bytes:
        """The event that begins a stream."""
        return self._event({"role": "assistant", "content": ""})

    def content(self) -> Iterator[bytes]:
        """The events that carry thinking, text and calls."""
        for piece in split(self.reply.thinking):
            yield self._event({"reasoning_content": piece})
        for piece in self.reply.text_chunks():
            yield self._event({"content": piece})
        for index, call in enumerate(self.reply.calls):
            for delta in self._call_deltas(index, call):
                yield self._event({"tool_calls": [delta]})

    def closing(self) -> bytes:
        """The events that end a stream."""
        last = self._event({}, self._finish_reason())
        if self.include_usage and Quirk.NO_USAGE not in self.quirks:
            last += self._chunks().usage_chunk(self._usage())
        return last + DONE

    def _event(self, delta: Json, finish_reason: str | None = None) -> bytes:
        if Quirk.EMPTY_TOOL_CALLS_LIST in self.quirks:
            delta = {"tool_calls": [], **delta}
        return self._chunks().chunk(delta, finish_reason)

    def _chunks(self) -> Completion:
        changing = Quirk.CHANGING_CHUNK_IDS in self.quirks
        return replace(self.completion, id=completion_id()) if changing else self.completion

    def _finish_reason(self) -> str:
        calling = self.reply.calls and Quirk.STOP_WITH_CALLS not in self.quirks
        return "tool_calls" if calling else "stop"

    def _usage(self) -> Json:
        given = self.reply.input_tokens
        prompt = self.prompt_tokens if given is None else given
        if Quirk.SILENT_TRUNCATION in self.quirks:
            prompt = min(prompt, CONTEXT_TOKENS)
        return usage_json(prompt, self.reply.estimated_tokens())

    def _whole_call(self, call: ToolCall) -> Json:
        wire = call_json(call.id or f"call_{uuid4().hex}", call.tool, json.dumps(call.args))
        if Quirk.EMPTY_CALL_ID in self.quirks:
            wire["id"] = ""
        if Quirk.MISSING_CALL_ID in self.quirks:
            del wire["id"]
        function: Json = wire["function"]
        if Quirk.ARGUMENTS_AS_OBJECT in self.quirks:
            function["arguments"] = call.args
        if Quirk.ARGUMENTS_NULL in self.quirks and not call.args:
            function["arguments"] = None
        if Quirk.ARGUMENTS_ABSENT in self.quirks and not call.args:
            del function["arguments"]
        return wire

    def _call_deltas(self, position: int, call: ToolCall) -> Iterator[Json]:
        whole = self._whole_call(call)
        index: Json = {"index": 0 if Quirk.SAME_CALL_INDEX in self.quirks else position}
        if Quirk.NO_CALL_INDEX in self.quirks:
            yield whole
            return
        arguments = whole["function"].get("arguments")
        # Only text can come in pieces.
        if not isinstance(arguments, str):
            yield {**index, **whole}
            return
        name, rest = call.tool, ""
        if Quirk.NAME_IN_PARTS in self.quirks:
            middle = (len(name) + 1) // 2
            name, rest = name[:middle], name[middle:]
        yield {**index, **whole, "function": {"name": name, "arguments": ""}}
        if rest:
            yield {**index, "function": {"name": rest, "arguments": ""}}
        blank: Json = {"name": ""} if Quirk.BLANK_LATER_NAMES in self.quirks else {}
        for piece in call.argument_pieces():
            yield {**index, "function": {**blank, "arguments": piece}}


MODEL = "scripted"

_BROKEN = b'{"id": "chatcmpl-broken", "object": "chat.completion", "choices": [{"ind'
_JSON = "application/json"
_EVENTS = "text/event-stream"
# Longer than any pause of a client, which would else find its idle connection closed.
_KEEP_ALIVE_SECONDS = 3600


class ModelApp:
    """What the server knows, and the routes that use it."""

    def __init__(
        self, script: Script, quirks: frozenset[Quirk], require_key: str | None, keep: int
    ) -> None:
        self.received: deque[bytes] = deque(maxlen=keep)
        self._script = script
        self._served = ServedFailures()
        self._quirks = quirks
        self._require_key = require_key
        self._asgi = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
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
        # A cut connection is an error to uvicorn, and our purpose.
        quiet = {"http": "h11", "log_level": "critical"}
        config = configured(self._asgi, {**quiet, "timeout_keep_alive": _KEEP_ALIVE_SECONDS})
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

    async def _complete(self, request: Request) -> ASGIApp:
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

    def _allowed(self, request: Request) -> bool:
        if self._require_key is None:
            return True
        return request.headers.get("authorization") == f"Bearer {self._require_key}"

    def _answer(self, reply: Reply, body: Json, prompt_tokens: int) -> ASGIApp:
        streamed = bool(body.get("stream")) and Quirk.STREAM_IGNORED not in self._quirks
        structured = bool(body.get("response_format"))
        serving = Serving(
            reply=bent(reply, self._quirks, streamed=streamed, structured=structured),
            completion=Completion(model=str(body.get("model", MODEL)), created=_CREATED),
            quirks=self._quirks,
            prompt_tokens=prompt_tokens,
            include_usage=bool(table(body, "stream_options").get("include_usage")),
        )
        if streamed and not isinstance(reply.failure, Status | Hang):
            return _Stream(serving)
        return _plain(reply.failure, serving.whole())


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


async def _silence(scope: Scope, receive: Receive, send: Send) -> None:
    """A response that never comes: it ends when the client has gone."""
    del scope, send
    while (await receive())["type"] != "http.disconnect":
        pass


def _parsed(raw: bytes) -> Json | None:
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


def _plain(failure: Failure | None, body: bytes) -> ASGIApp:
    """An answer in one piece, or what the script puts in its place."""
    match failure:
        case Status() as status:
            return _failed(status)
        case Hang():
            return _silence
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
    return JSONResponse(error_json(status.message, "scripted_failure"), status.code, headers=wait)


def _error(status: int, message: str, code: str | None = None) -> Response:
    return JSONResponse(error_json(message, code=code), status)


async def _start(send: Send, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _more(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
