"""A reply in the bytes of OpenAI's chat completions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import uuid4

from long_running_agents.testing.quirks import CONTEXT_TOKENS, Quirk
from long_running_agents.testing.reply import Reply, ToolCall, split

# Answers must not differ from run to run, so they are all of one moment.
_CREATED = 1_767_225_600

Json: TypeAlias = dict[str, Any]


def _completion_id() -> str:
    return f"chatcmpl-{uuid4().hex}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """One reply with all that its wire form depends on."""

    reply: Reply
    """The reply, already bent by the quirks."""
    model: str
    """The model the client asked for."""
    quirks: frozenset[Quirk]
    """How the server departs from the protocol."""
    prompt_tokens: int
    """The estimated size of the request."""
    include_usage: bool = False
    """Whether a stream ends with a chunk of usage."""
    id: str = field(default_factory=_completion_id)
    """The completion's id."""

    def completion(self) -> bytes:
        """The whole answer in one body."""
        reply = self.reply
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.calls:
            message["tool_calls"] = [self._whole_call(call, uuid4().hex) for call in reply.calls]
        elif Quirk.EMPTY_TOOL_CALLS_LIST in self.quirks:
            message["tool_calls"] = []
        body: Json = {
            "id": self.id,
            "object": "chat.completion",
            "created": _CREATED,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": self._finish_reason()}],
        }
        if Quirk.NO_USAGE not in self.quirks:
            body["usage"] = self._usage()
        return json.dumps(body).encode()

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
        events = [self._event({}, self._finish_reason())]
        if self.include_usage and Quirk.NO_USAGE not in self.quirks:
            events.append(_sse({**self._chunk(), "choices": [], "usage": self._usage()}))
        return b"".join([*events, b"data: [DONE]\n\n"])

    def _event(self, delta: Json, finish_reason: str | None = None) -> bytes:
        if Quirk.EMPTY_TOOL_CALLS_LIST in self.quirks:
            delta = {"tool_calls": [], **delta}
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return _sse({**self._chunk(), "choices": [choice]})

    def _chunk(self) -> Json:
        changing = Quirk.CHANGING_CHUNK_IDS in self.quirks
        return {
            "id": _completion_id() if changing else self.id,
            "object": "chat.completion.chunk",
            "created": _CREATED,
            "model": self.model,
        }

    def _finish_reason(self) -> str:
        calling = self.reply.calls and Quirk.STOP_WITH_CALLS not in self.quirks
        return "tool_calls" if calling else "stop"

    def _usage(self) -> Json:
        given, completion = self.reply.input_tokens, self.reply.estimated_tokens()
        prompt = self.prompt_tokens if given is None else given
        if Quirk.SILENT_TRUNCATION in self.quirks:
            prompt = min(prompt, CONTEXT_TOKENS)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    def _whole_call(self, call: ToolCall, fresh: str) -> Json:
        wire: Json = {"id": call.id or f"call_{fresh}", "type": "function"}
        if Quirk.EMPTY_CALL_ID in self.quirks:
            wire["id"] = ""
        if Quirk.MISSING_CALL_ID in self.quirks:
            del wire["id"]
        function: Json = {"name": call.tool, "arguments": json.dumps(call.args)}
        if Quirk.ARGUMENTS_AS_OBJECT in self.quirks:
            function["arguments"] = call.args
        if Quirk.ARGUMENTS_NULL in self.quirks and not call.args:
            function["arguments"] = None
        if Quirk.ARGUMENTS_ABSENT in self.quirks and not call.args:
            del function["arguments"]
        return {**wire, "function": function}

    def _call_deltas(self, position: int, call: ToolCall) -> Iterator[Json]:
        whole = self._whole_call(call, uuid4().hex)
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


def error_body(message: str, kind: str = "invalid_request_error", code: str | None = None) -> bytes:
    """An error in OpenAI's shape."""
    return json.dumps({"error": {"message": message, "type": kind, "code": code}}).encode()


def _sse(data: Json) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"
