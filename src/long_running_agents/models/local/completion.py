"""Answers in the JSON of the chat-completions protocol."""

import json
from dataclasses import dataclass, field
from uuid import uuid4

from long_running_agents.models.local.answering import arguments_text
from long_running_agents.models.local.engine import Finished, Json, Piece, Words
from long_running_agents.models.local.request import Call

DONE = b"data: [DONE]\n\n"


def _completion_id() -> str:
    return f"chatcmpl-{uuid4().hex}"


@dataclass(slots=True, kw_only=True)
class Completion:
    """One answer: its pieces one by one as chunks, or all of them together."""

    model: str
    created: int
    id: str = field(default_factory=_completion_id)
    _words: list[str] = field(default_factory=list[str])
    _calls: list[Call] = field(default_factory=list[Call])
    _finished: Finished | None = None

    def add(self, piece: Piece | Call) -> None:
        """Take in one more piece."""
        match piece:
            case Words(text=text):
                self._words.append(text)
            case Call():
                self._calls.append(piece)
            case Finished():
                self._finished = piece

    def whole(self) -> Json:
        """The answer as one object."""
        message: Json = {"role": "assistant", "content": "".join(self._words) or None}
        if self._calls:
            message["tool_calls"] = [_call(call) for call in self._calls]
        elif message["content"] is None:
            message["content"] = ""
        reason = self._finished.reason if self._finished else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(self._finished),
        }

    def opening(self) -> bytes:
        """The event that begins a stream."""
        return self._delta({"role": "assistant", "content": ""})

    def event(self, piece: Piece | Call) -> bytes:
        """The event of one piece."""
        match piece:
            case Words(text=text):
                return self._delta({"content": text})
            case Call():
                calls = [{"index": len(self._calls) - 1, **_call(piece)}]
                return self._delta({"tool_calls": calls})
            case Finished(reason=reason):
                return self._delta({}, reason)

    def usage_event(self) -> bytes:
        """The event with the usage, after all others."""
        head = self._head("chat.completion.chunk")
        return _sent({**head, "choices": [], "usage": _usage(self._finished)})

    def _delta(self, delta: Json, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _sent({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def error_body(message: str, kind: str = "invalid_request_error", code: str | None = None) -> Json:
    """An error as clients of the protocol expect it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_event(body: Json) -> bytes:
    """An error that comes after a stream has begun."""
    return _sent(body)


def _sent(body: Json) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def _call(call: Call) -> Json:
    function = {"name": call.name, "arguments": arguments_text(call)}
    return {"id": call.id, "type": "function", "function": function}


def _usage(finished: Finished | None) -> Json:
    read = finished.prompt_tokens if finished else 0
    written = finished.completion_tokens if finished else 0
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": finished.cached_tokens if finished else 0},
    }
