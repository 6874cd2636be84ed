"""Reading what a chat-completions server sends back, piece by piece."""

import json
from collections.abc import AsyncIterator
from typing import Any, Literal, cast

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.usage import RequestUsage

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


async def server_sent(lines: AsyncIterator[str], model: str) -> AsyncIterator[Json]:
    """The JSON objects of a stream; a stream without its end mark or a reason was cut."""
    finished = False
    async for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == _DONE:
            return
        chunk = parse(data, model)
        if "error" in chunk:
            raise ModelAPIError(model, f"the server broke off: {error_text(chunk)}", in_stream=True)
        choices: list[Json] = chunk.get("choices") or []
        finished = finished or any(choice.get("finish_reason") for choice in choices)
        yield chunk
    if not finished:
        raise ModelAPIError(model, "the answer broke off before its end", in_stream=True)


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


class CallKeys:
    """Tells parallel calls apart although servers number them in their own ways.

    A new non-empty id is a new call even under an index already seen; a piece without an index
    belongs to the last call.
    """

    def __init__(self) -> None:
        self._current: dict[object, tuple[object, str]] = {}
        self._last: tuple[object, str] | None = None

    def key(self, piece: Json) -> tuple[object, str]:
        """The call a piece belongs to."""
        index: object = piece.get("index")
        call_id = str(piece.get("id") or "")
        function = cast("Json", piece.get("function") or {})
        name = str(function.get("name") or "")
        if index is None and not call_id and not name and self._last is not None:
            return self._last
        known = self._current.get(index)
        if known is None or (call_id and known[1] and call_id != known[1]):
            known = (len(self._current) if index is None else index, call_id)
            if known in self._current.values():
                known = (object(), call_id)
            self._current[index] = known
        self._last = known
        return known
