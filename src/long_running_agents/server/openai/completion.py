"""Chat completions as clients read them, whole and in chunks."""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import LraError
from long_running_agents.server.failures import ErrorBody, openai_error
from long_running_agents.server.openai.following import Rest
from long_running_agents.server.openai.line import Pieces, failure_of

Json = dict[str, Any]

DONE = "data: [DONE]\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One completion: what all its chunks have in common."""

    id: str
    created: int
    model: str
    before: Spent
    """What the turn had used before."""
    usage: bool = False
    """Whether a stream ends with what was used."""

    def whole(self, rest: Rest) -> Json:
        """All of it at once."""
        message: Json = {"content": rest.sent or None}
        if rest.calls:
            message["tool_calls"] = [_call(call) for call in rest.calls]
        return self.message(message, finish_of(rest), rest.turn.spent)

    def message(self, message: Json, finish: str, spent: Spent) -> Json:
        """A completion of one message."""
        said = {"role": "assistant", "refusal": None, **message}
        choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": finish}
        usage = used(self.before, spent)
        return {**self._frame("chat.completion"), "choices": [choice], "usage": usage}

    async def spoken(self, text: str, spent: Spent) -> AsyncGenerator[str]:
        """A stream of words that are all there."""
        yield self._chunk({"role": "assistant", "content": text})
        for chunk in self.ending([], "stop", spent):
            yield chunk

    async def chunks(self, pieces: Pieces) -> AsyncGenerator[str]:
        """Chunk by chunk, as server-sent events."""
        yield self._chunk({"role": "assistant", "content": ""})
        async for piece in pieces:
            if isinstance(piece, str):
                yield self._chunk({"content": piece})
                continue
            error = piece if isinstance(piece, LraError) else failure_of(piece)
            if error is not None:
                yield event(broken(error))
                return
            if isinstance(piece, Rest):
                for chunk in self.ending(piece.calls, finish_of(piece), piece.turn.spent):
                    yield chunk

    def ending(self, calls: Sequence[ToolCallRecord], finish: str, spent: Spent) -> list[str]:
        """The last chunks of a stream."""
        made = [{"index": place, **_call(call)} for place, call in enumerate(calls)]
        chunks = [self._chunk({"tool_calls": made})] if made else []
        chunks.append(self._chunk({}, finish))
        if self.usage:
            last: Json = {**self._frame("chat.completion.chunk"), "choices": []}
            chunks.append(event({**last, "usage": used(self.before, spent)}))
        return [*chunks, DONE]

    def _chunk(self, delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**self._frame("chat.completion.chunk"), "choices": [choice]})

    def _frame(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def event(data: Json) -> str:
    """One server-sent event without a name."""
    return f"data: {json.dumps(data)}\n\n"


def broken(error: LraError) -> Json:
    """What went wrong after the first word."""
    body = ErrorBody(code=error.code, message=error.message, hint=error.hint)
    return openai_error(error.http_status, body).model_dump()


def finish_of(rest: Rest) -> str:
    """Why the completion ends here."""
    if rest.calls:
        return "tool_calls"
    return "length" if rest.turn.status is TurnStatus.LIMITED else "stop"


def used(before: Spent, now: Spent) -> Json:
    """What was used for one completion."""
    taken = now.input_tokens - before.input_tokens
    given = now.output_tokens - before.output_tokens
    return {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}


def _call(call: ToolCallRecord) -> Json:
    function = {"name": call.tool, "arguments": call.args}
    return {"id": call.call_id, "type": "function", "function": function}
