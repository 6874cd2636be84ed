"""Messages of the agent library as a chat-completions client sends them, and answers read back."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import dropwhile
from typing import Literal, cast

import httpx2
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage
from typing_extensions import override

from long_running_agents.models import quirks, text_calls
from long_running_agents.models.chat_protocol import Json, call_json, table, tables
from long_running_agents.models.quirks import ALL, Capabilities
from long_running_agents.models.retry import CALLS, UnreadableAnswer, too_many_calls
from long_running_agents.models.text_stream import TextCallFilter


def request_body(
    model: str,
    messages: Sequence[ModelMessage],
    instructions: Sequence[InstructionPart],
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    *,
    stream: bool,
    ability: Capabilities = ALL,
) -> Json:
    """Everything that is posted for one request."""
    tools = [_tool_json(tool, ability) for tool in parameters.declared_tool_defs.values()]
    told = quirks.answered(chat_messages(messages, instructions))
    body: Json = {"model": model, "messages": told}
    if stream:
        body["stream"] = True
        if ability.stream_usage:
            body["stream_options"] = {"include_usage": True}
    chosen = cast("Json", settings)
    for ours, theirs in _SETTINGS:
        if (value := chosen.get(ours)) is not None:
            body[theirs] = value
    offer = _offer if ability.native_tools else _describe
    offer(body, tools, ability, must_call=bool(tools) and not parameters.allow_text_output)
    if parameters.output_mode == "native" and ability.structured:
        body.update(_answer_format(parameters, ability))
    body["messages"] = quirks.fitted(body["messages"], ability)
    return {**body, **(chosen.get("extra_body") or {})}


def _offer(body: Json, tools: list[Json], ability: Capabilities, *, must_call: bool) -> None:
    """Add tools to a body in the protocol's way."""
    if not tools:
        return
    body["tools"] = tools
    if must_call and ability.tool_choice:
        body["tool_choice"] = "required"


def _describe(body: Json, tools: list[Json], ability: Capabilities, *, must_call: bool) -> None:
    """Add tools to a body in words."""
    del ability
    told = quirks.joined(text_calls.written(body["messages"]))
    if tools:
        told = text_calls.led(told, text_calls.instructions(tools, must_call=must_call))
        body["stop"] = [*body.get("stop", ()), text_calls.RESULT]
    body["messages"] = told


def _answer_format(parameters: ModelRequestParameters, ability: Capabilities) -> Json:
    asked = parameters.output_object
    if asked is None:
        return {}
    described = {"name": asked.name or "answer", "schema": _schema(asked.json_schema, ability)}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


_SETTINGS = (
    ("max_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("seed", "seed"),
    ("stop_sequences", "stop"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("parallel_tool_calls", "parallel_tool_calls"),
)


def chat_messages(
    messages: Sequence[ModelMessage], instructions: Sequence[InstructionPart]
) -> list[Json]:
    """The conversation, with the instructions as one leading system message."""
    mapped: list[Json] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            mapped.extend(_request(message))
        elif (answer := _response(message)) is not None:
            mapped.append(answer)
    rest = list(dropwhile(lambda message: message["role"] == "system", mapped))
    # Several servers refuse a second system message.
    leading = [message["content"] for message in mapped[: len(mapped) - len(rest)]]
    system = "\n\n".join([*(part.content for part in instructions), *leading])
    return [{"role": "system", "content": system}, *rest] if system else rest


def _request(message: ModelRequest) -> Iterator[Json]:
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            yield {
                "role": "tool",
                "tool_call_id": part.tool_call_id,
                "content": part.model_response_str(),
            }
        elif isinstance(part, UserPromptPart):
            yield {"role": "user", "content": _content(part)}
        elif isinstance(part, SystemPromptPart):
            yield {"role": "system", "content": part.content}


def _content(part: UserPromptPart) -> str | list[Json]:
    if isinstance(part.content, str):
        return part.content
    items: list[Json] = []
    for item in part.content:
        if isinstance(item, str):
            items.append({"type": "text", "text": item})
        elif isinstance(item, ImageUrl):
            items.append({"type": "image_url", "image_url": {"url": item.url}})
        elif isinstance(item, BinaryContent) and item.is_image:
            items.append({"type": "image_url", "image_url": {"url": item.data_uri}})
        else:
            kind = type(item).__name__
            items.append({"type": "text", "text": f"[{kind} left out: this model reads no such]"})
    return items


def _response(message: ModelResponse) -> Json | None:
    text = "\n\n".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls = [
        call_json(part.tool_call_id, part.tool_name, part.args_as_json_str())
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if not text.strip() and not calls:
        # An empty assistant message is refused by several servers.
        return None
    # "" and not null: some servers refuse a null content.
    answer: Json = {"role": "assistant", "content": text}
    if calls:
        answer["tool_calls"] = calls
    return answer


def _tool_json(tool: ToolDefinition, ability: Capabilities) -> Json:
    """A tool as the protocol describes it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description or "",
            "parameters": _schema(tool.parameters_json_schema, ability),
        },
    }


def _schema(schema: Json, ability: Capabilities) -> Json:
    return schema if ability.hard_schemas else quirks.simple(schema)


FinishReason = Literal["stop", "length", "content_filter", "tool_call", "error"]

STREAM = "text/event-stream"
LINE = 8 << 20
"""Bytes of one line of a stream, or of an answer in one piece."""
MESSAGE = 2_000_000
"""Letters of one answer: text, thinking and arguments; several times what any model writes."""
STREAMED = 256 << 20
"""Bytes of a whole stream, most of which is the frame around each word."""

_DONE = "[DONE]"
_FIELDS = (b":", b"event:", b"id:", b"retry:")
"""What other lines of a stream begin with."""
_MOST_TOKENS = 10**12

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "content_filter",
}


async def server_sent(
    pieces: AsyncIterator[bytes], model: str, kind: str = STREAM
) -> AsyncIterator[Json]:
    """The JSON objects of a stream; a stream without its end mark or a reason was cut.

    A server that does not stream sends one object; the kind is what it says that it sends.
    """
    finished = begun = False
    other = bytearray()
    async for line in _lines(pieces, model):
        if not line.startswith(b"data:"):
            if not begun and not line.startswith(_FIELDS):
                other += line + b"\n"
                if len(other) > LINE:
                    raise not_an_answer(model, kind, bytes(other))
            continue
        begun = True
        data = line[5:].decode(errors="replace").strip()
        if data == _DONE:
            # Read on to the end all the same: only a connection read out is used again.
            finished = True
            continue
        chunk = _chunk(data, model)
        finished = finished or _ends(chunk)
        yield chunk
    if not begun and (other.strip() or kind != STREAM):
        finished = True
        yield whole(bytes(other), model, kind)
    if not finished:
        raise ModelAPIError(model, "the answer broke off before its end", in_stream=True)


async def _lines(pieces: AsyncIterator[bytes], model: str) -> AsyncIterator[bytes]:
    # Not the HTTP client's lines: those also end at U+2028 and the like, inside a JSON string.
    rest, total = bytearray(), 0
    async for piece in pieces:
        total += len(piece)
        first, *others = piece.split(b"\n")
        rest += first
        if len(rest) > LINE or total > STREAMED:
            long = f"a line of more than {LINE} bytes"
            raise too_much(model, long if len(rest) > LINE else f"more than {STREAMED} bytes")
        for line in others:
            yield bytes(rest)
            rest = bytearray(line)
    # The last line may lack its end.
    yield bytes(rest)


def too_much(model: str, what: str) -> UnreadableAnswer:
    """More than any answer needs."""
    return UnreadableAnswer(model, f"the server sent {what}, and was cut off")


def not_an_answer(model: str, kind: str, raw: bytes) -> UnreadableAnswer:
    """Something that a web server says, and no model server."""
    words = " ".join(raw[:400].decode(errors="replace").split())[:80]
    came = f"that begins with {words!r}" if words else "that is empty"
    return UnreadableAnswer(
        model, f"the server sent {kind or 'something'} {came} instead of an answer"
    )


def whole(raw: bytes, model: str, kind: str) -> Json:
    """An answer in one piece."""
    text = raw.strip()
    if not text.startswith((b"{", b"[")):
        raise not_an_answer(model, kind, raw)
    body = parse(text.decode(errors="replace"), model)
    if body.get("error"):
        raise ModelAPIError(model, error_text(body))
    if not tables(body, "choices"):
        raise not_an_answer(model, kind, raw)
    return body


async def body_of(reply: httpx2.Response, model: str) -> bytes:
    """The body of a reply that is not streamed; one longer than any answer is unreadable."""
    raw = bytearray()
    async for piece in reply.aiter_bytes():
        raw += piece
        if len(raw) > LINE:
            raise too_much(model, f"more than {LINE} bytes")
    return bytes(raw)


def _chunk(data: str, model: str) -> Json:
    chunk = parse(data, model)
    if chunk.get("error"):
        raise ModelAPIError(model, f"the server broke off: {error_text(chunk)}", in_stream=True)
    return chunk


def _ends(chunk: Json) -> bool:
    choices = tables(chunk, "choices")
    return bool(choices and (choices[0].get("finish_reason") or is_whole(choices[0])))


def is_whole(choice: Json) -> bool:
    """Whether a choice is a whole answer, and not a piece of one."""
    return "message" in choice and not choice.get("delta")


def parse(data: str, model: str) -> Json:
    """Read one JSON object."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelAPIError(model, f"the server sent broken JSON: {data[:80]!r}") from error
    if not isinstance(found, dict):
        raise ModelAPIError(model, f"the server sent {data[:80]!r} instead of an object")
    return cast("Json", mended(cast("Json", found)) if "\\ud" in data or "\\uD" in data else found)


def mended(value: object) -> object:
    """The value without halves of letters, which can be neither stored nor sent."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [mended(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {mended(k): mended(v) for k, v in cast("dict[object, object]", value).items()}
    return value


def error_text(body: Json) -> str:
    """What a server's error object says."""
    error = table(body, "error")
    return str(error.get("message") or error or body.get("error"))


def error_code(body: Json) -> str:
    """The code or the kind that a server's error object names, if any."""
    error = table(body, "error")
    return str(error.get("code") or error.get("type") or "")


def cut_short(sent: int, read: int) -> bool:
    """Whether a server read only part of a request, going by the tokens that it reports.

    The estimate of what was sent is rough, so only a clear difference counts; and few tokens
    read may mean that a server leaves out those that it had in its cache.
    """
    return read >= _FEWEST_READ and read < sent * _LEAST_SHARE


_FEWEST_READ = 1024
_LEAST_SHARE = 0.6


def usage_of(body: Json) -> RequestUsage | None:
    """The tokens a server reports, or None when it reports none."""
    reported = body.get("usage")
    if not isinstance(reported, dict):
        return None
    usage = cast("Json", reported)
    return RequestUsage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cache_read_tokens=_count(table(usage, "prompt_tokens_details").get("cached_tokens")),
    )


def _count(value: object) -> int:
    """A number of tokens; what cannot be one counts as none."""
    return int(value) if isinstance(value, int | float) and 0 < value < _MOST_TOKENS else 0


def arguments_text(arguments: object) -> str:
    """Arguments as JSON text, whether the server sent text, an object or nothing."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments)


@dataclass(slots=True)
class _Call:
    number: int
    index: object
    id: str
    arguments: str = ""

    @property
    def complete(self) -> bool:
        try:
            json.loads(self.arguments)
        except ValueError:
            return False
        return True


class CallKeys:
    """Tells parallel calls apart although servers number them in their own ways.

    A new non-empty id is a new call even under an index already seen, and so is a name after
    complete arguments; a piece without an index belongs to the last call unless it names a tool.
    """

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._calls: list[_Call] = []

    def key(self, piece: Json) -> int:
        """The call a piece belongs to."""
        index: object = piece.get("index")
        call_id = str(piece.get("id") or "")
        function = table(piece, "function")
        call = self._known(index, call_id, named=bool(function.get("name")))
        if call is None:
            if len(self._calls) == CALLS:
                raise too_many_calls(self._model)
            call = _Call(len(self._calls), index, call_id)
            self._calls.append(call)
        call.id = call.id or call_id
        call.arguments += arguments_text(function.get("arguments"))
        return call.number

    def _known(self, index: object, call_id: str, *, named: bool) -> _Call | None:
        newest = reversed([c for c in self._calls if index in (None, c.index)])
        if call_id:
            return next((c for c in newest if c.id in ("", call_id)), None)
        call = next(newest, None)
        if call is not None and named and (index is None or call.complete):
            return None
        return call


def parts_of(message: Json, holdback: TextCallFilter, *, stopped: bool) -> list[ModelResponsePart]:
    """The parts of a whole answer; `stopped` when the model came to its end by itself."""
    thinking = str(message.get("reasoning_content") or message.get("reasoning") or "")
    calls = list(_calls(message))
    shown = holdback.feed(str(message.get("content") or ""))
    end = holdback.end(native=bool(calls))
    thinking += shown.thinking + end.thinking
    text = shown.text + end.text
    calls = calls or [ToolCallPart(call.name, call.arguments) for call in end.calls]
    if stopped and thinking and not text and not calls:
        # The answer was misfiled.
        text = thinking
    parts: list[ModelResponsePart] = [ThinkingPart(thinking)] if thinking else []
    return [*parts, *([TextPart(text)] if text else []), *calls]


def _calls(message: Json) -> Iterator[ToolCallPart]:
    for call in tables(message, "tool_calls"):
        function = table(call, "function")
        if name := str(function.get("name") or ""):
            arguments = arguments_text(function.get("arguments")) or "{}"
            call_id = str(call.get("id") or "")
            yield (
                ToolCallPart(name, arguments, tool_call_id=call_id)
                if call_id
                else ToolCallPart(name, arguments)
            )


@dataclass(kw_only=True)
class NamedStream(StreamedResponse):
    """A streamed answer that knows whom it comes from."""

    asked_model: str
    system: str
    address: str | None = None
    began: datetime = field(default_factory=lambda: datetime.now(UTC))  # noqa: TID251 - a time stamp of the library's own record

    @property
    @override
    def model_name(self) -> str:
        return self.asked_model

    @property
    @override
    def provider_name(self) -> str:
        return self.system

    @property
    @override
    def provider_url(self) -> str | None:
        return self.address

    @property
    @override
    def timestamp(self) -> datetime:
        return self.began
