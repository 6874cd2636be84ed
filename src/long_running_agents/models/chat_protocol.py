"""The chat-completions protocol as servers speak it: requests read; answers and errors written.

Without the agent library, so that the scripted server starts fast.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, ValidationError

from long_running_agents.errors import UsageError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is chosen, and when to stop. Unset leaves it to the engine."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    presence_penalty: float | None = None
    frequency_penalty: float | None = None


@dataclass(frozen=True, slots=True)
class ChatTool:
    """Something the model may call."""

    name: str
    description: str
    parameters: Json
    """The JSON schema of its arguments."""


@dataclass(frozen=True, slots=True)
class ChatCall:
    """A call of a tool."""

    id: str
    name: str
    arguments: Json

    def arguments_text(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation that may use tools."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ChatCall, ...] = ()
    """What the assistant called."""
    call_id: str = ""
    """The call whose result this is."""


ToolChoice: TypeAlias = Literal["auto", "required", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a client wants."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ChatTool, ...] = ()
    choice: ToolChoice = "auto"
    sampling: Sampling = field(default_factory=Sampling)
    schema: Json | None = None
    """The JSON schema that an answer in words has to satisfy."""
    stream: bool = False
    include_usage: bool = False
    """Whether a stream ends with a chunk of usage."""


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)


class _Function(_Loose):
    name: str
    description: str | None = None
    parameters: Json | None = None
    arguments: str | Json | None = None


class _Entry(_Loose):
    type: str = "function"
    id: str | None = None
    function: _Function | None = None


class _Part(_Loose):
    type: str
    text: str = ""


class _Message(_Loose):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Entry] | None = None
    tool_call_id: str | None = None


class _Named(_Loose):
    function: _Function


class _Schema(_Loose):
    schema_: Json | None = None

    model_config = ConfigDict(extra="ignore", alias_generator=lambda name: name.rstrip("_"))


class _Format(_Loose):
    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: _Schema | None = None


class _StreamOptions(_Loose):
    include_usage: bool = False


class _Body(_Loose):
    messages: list[_Message]
    tools: list[_Entry] | None = None
    tool_choice: ToolChoice | _Named | None = None
    response_format: _Format | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    n: int | None = None


def read_request(body: object) -> ChatRequest:
    """Read a request.

    Raises:
        UsageError: The body is not a chat request, or asks for what we cannot do.
    """
    try:
        parsed = _Body.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "body"
        raise UsageError(f"The request is not understood: {place}: {first['msg']}.") from error
    if not parsed.messages:
        raise UsageError("The request has no messages.")
    if parsed.n not in (None, 1):
        raise UsageError("Only one answer at a time can be had: leave out n.")
    tools, choice = _tools(parsed)
    return ChatRequest(
        messages=tuple(_message(message) for message in parsed.messages),
        tools=tools,
        choice=choice,
        sampling=_sampling(parsed),
        schema=_schema(parsed.response_format),
        stream=bool(parsed.stream),
        include_usage=bool(parsed.stream_options and parsed.stream_options.include_usage),
    )


def _tools(body: _Body) -> tuple[tuple[ChatTool, ...], ToolChoice]:
    tools = tuple(
        ChatTool(
            entry.function.name, entry.function.description or "", entry.function.parameters or {}
        )
        for entry in body.tools or []
        if entry.function is not None
    )
    if not isinstance(body.tool_choice, _Named):
        choice = body.tool_choice or "auto"
        if choice == "required" and not tools:
            raise UsageError("A tool is required, and none is offered.")
        return tools, choice
    wanted = body.tool_choice.function.name
    # A named tool is a required one among one.
    named = tuple(tool for tool in tools if tool.name == wanted)
    if not named:
        raise UsageError(f"The tool {wanted!r} is chosen, and not offered.")
    return named, "required"


def _sampling(body: _Body) -> Sampling:
    stop = [body.stop] if isinstance(body.stop, str) else body.stop or []
    return Sampling(
        max_tokens=body.max_completion_tokens or body.max_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        seed=body.seed,
        stop=tuple(stop),
        presence_penalty=body.presence_penalty,
        frequency_penalty=body.frequency_penalty,
    )


def _schema(wanted: _Format | None) -> Json | None:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.json_schema is not None and wanted.json_schema.schema_ is not None:
        return wanted.json_schema.schema_
    return {"type": "object"}


def _message(message: _Message) -> ChatMessage:
    role = "system" if message.role == "developer" else message.role
    return ChatMessage(role, _text(message), tuple(_calls(message)), message.tool_call_id or "")


def _text(message: _Message) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    for part in message.content:
        if part.type not in ("text", "refusal"):
            raise UsageError(f"This model reads text only, and the message has {part.type!r}.")
    return "\n".join(part.text for part in message.content)


def _calls(message: _Message) -> Iterator[ChatCall]:
    for entry in message.tool_calls or []:
        if entry.function is not None:
            yield ChatCall(
                entry.id or "", entry.function.name, _arguments(entry.function.arguments)
            )


def _arguments(arguments: str | Json | None) -> Json:
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        found: Any = json.loads(arguments or "{}")
    except ValueError:
        found = None
    # What an earlier model wrote may be broken; the conversation goes on all the same.
    return cast("Json", found) if isinstance(found, dict) else {"arguments": arguments}


def table(body: Json, key: str) -> Json:
    """The object under a key; an empty one when there is something else."""
    found: object = body.get(key)
    return cast("Json", found) if isinstance(found, dict) else {}


def tables(body: Json, key: str) -> list[Json]:
    """The objects of the list under a key."""
    found: object = body.get(key)
    items = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("Json", item) for item in items if isinstance(item, dict)]


DONE = b"data: [DONE]\n\n"
"""The event that ends a stream."""


def completion_id() -> str:
    """A fresh id."""
    return f"chatcmpl-{uuid4().hex}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What all parts of one answer have in common."""

    model: str
    created: int
    id: str = field(default_factory=completion_id)

    def whole(self, message: Json, finish_reason: str, usage: Json | None) -> Json:
        """The answer in one piece."""
        said = {"role": "assistant", **message}
        choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": finish_reason}
        body = {**self._frame("chat.completion"), "choices": [choice]}
        return body if usage is None else {**body, "usage": usage}

    def chunk(self, delta: Json, finish_reason: str | None = None) -> bytes:
        """One event of a stream."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return event({**self._frame("chat.completion.chunk"), "choices": [choice]})

    def opening(self, content: str = "") -> bytes:
        """The event that begins a stream."""
        return self.chunk({"role": "assistant", "content": content})

    def calls_chunk(self, calls: Sequence[Json], first: int = 0) -> bytes:
        """The event with whole calls, numbered from one on."""
        return self.chunk(
            {"tool_calls": [{"index": n, **call} for n, call in enumerate(calls, first)]}
        )

    def usage_chunk(self, usage: Json) -> bytes:
        """The event with the usage, after all others."""
        return event({**self._frame("chat.completion.chunk"), "choices": [], "usage": usage})

    def _frame(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def call_json(call_id: str, name: str, arguments: str) -> Json:
    """A tool call; its arguments are JSON text."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def usage_json(prompt: int, completion: int, cached: int | None = None) -> Json:
    """The tokens of a request and its answer."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **({} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}),
    }


def error_json(
    message: str,
    kind: str = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
) -> Json:
    """An error as clients of the protocol expect it; the parameter is the field that is wrong."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def event(data: Json, name: str = "") -> bytes:
    """One server-sent event. In ASCII: half a letter cannot be sent in any other way."""
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {json.dumps(data)}\n\n".encode()
