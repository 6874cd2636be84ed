"""Reading what a chat-completions server sends back, piece by piece."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from long_running_agents.models.holdback import Holdback

Json = dict[str, Any]
FinishReason = Literal["stop", "length", "content_filter", "tool_call", "error"]

_DONE = "[DONE]"

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "content_filter",
}


async def server_sent(pieces: AsyncIterator[bytes], model: str) -> AsyncIterator[Json]:
    """The JSON objects of a stream; a stream without its end mark or a reason was cut."""
    finished = False
    rest = b""
    async for piece in _and_end(pieces):
        # Not the HTTP client's lines: those also end at U+2028 and the like, inside a JSON string.
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].decode(errors="replace").strip()
            if data == _DONE:
                # Read on to the end all the same: only a connection read out is used again.
                finished = True
                continue
            chunk = _chunk(data, model)
            finished = finished or _ends(chunk)
            yield chunk
    if not finished:
        raise ModelAPIError(model, "the answer broke off before its end", in_stream=True)


async def _and_end(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        yield piece
    # The last line may lack its end.
    yield b"\n"


def _chunk(data: str, model: str) -> Json:
    chunk = parse(data, model)
    if chunk.get("error"):
        raise ModelAPIError(model, f"the server broke off: {error_text(chunk)}", in_stream=True)
    return chunk


def _ends(chunk: Json) -> bool:
    choices: list[Json] = chunk.get("choices") or []
    return bool(choices and choices[0].get("finish_reason"))


def parse(data: str, model: str) -> Json:
    """Read one JSON object."""
    try:
        found = json.loads(data)
    except ValueError as error:
        raise ModelAPIError(model, f"the server sent broken JSON: {data[:80]!r}") from error
    if not isinstance(found, dict):
        raise ModelAPIError(model, f"the server sent {data[:80]!r} instead of an object")
    return cast("Json", found)


def error_text(body: Json) -> str:
    """What a server's error object says."""
    error = body.get("error")
    if isinstance(error, dict):
        return str(cast("Json", error).get("message") or cast("Json", error))
    return str(error)


def error_code(body: Json) -> str:
    """The code or the kind that a server's error object names, if any."""
    error = body.get("error")
    if not isinstance(error, dict):
        return ""
    named = cast("Json", error)
    return str(named.get("code") or named.get("type") or "")


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
    details = cast("Json", usage.get("prompt_tokens_details") or {})
    return RequestUsage(
        input_tokens=int(usage.get("prompt_tokens") or 0),
        output_tokens=int(usage.get("completion_tokens") or 0),
        cache_read_tokens=int(details.get("cached_tokens") or 0),
    )


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

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def key(self, piece: Json) -> int:
        """The call a piece belongs to."""
        index: object = piece.get("index")
        call_id = str(piece.get("id") or "")
        function = cast("Json", piece.get("function") or {})
        call = self._known(index, call_id, named=bool(function.get("name")))
        if call is None:
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


def parts_of(message: Json, holdback: Holdback, *, stopped: bool) -> list[ModelResponsePart]:
    """The parts of a whole answer.

    Args:
        message: The answer.
        holdback: Splits its text.
        stopped: Whether the model came to its end by itself.
    """
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
    calls: list[Json] = message.get("tool_calls") or []
    for call in calls:
        function: Json = call.get("function") or {}
        if name := function.get("name"):
            arguments = arguments_text(function.get("arguments")) or "{}"
            call_id = str(call.get("id") or "")
            yield (
                ToolCallPart(name, arguments, tool_call_id=call_id)
                if call_id
                else ToolCallPart(name, arguments)
            )
