"""Chat completions and responses as clients read them, whole and as a stream of events."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import AnswerForm, Turn, TurnStatus
from long_running_agents.errors import LraError
from long_running_agents.models.chat_protocol import (
    DONE,
    Completion,
    Json,
    call_json,
    event,
    usage_json,
)
from long_running_agents.server.errors import ErrorBody, openai_error
from long_running_agents.server.openai.stream import Pieces, TurnAtRest, failure_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRenderer:
    """One response: what it has from its first moment."""

    id: str
    created: int
    model: str
    before: Spent
    """What the turn had used before."""
    previous: str | None = None
    """The response it goes on from."""
    form: AnswerForm | None = None
    """In which form it was wanted."""

    def whole(self, rest: TurnAtRest) -> Json:
        """All of it at once."""
        output = [self.message(rest.sent)] if rest.sent else []
        output += [_call(call, call.args, "completed") for call in rest.calls]
        return self._ended(rest.turn, output)

    def standing(self, rest: TurnAtRest) -> Json:
        """As it stands now: it may be in the making, or have failed."""
        if not rest.calls and not rest.turn.status.settled:
            return self.frame("in_progress")
        error = None if rest.calls else failure_of(rest)
        return self.whole(rest) if error is None else self.frame("failed", error=_error(error))

    async def events(self, pieces: Pieces) -> AsyncGenerator[bytes]:
        """Event by event."""
        stream = _Stream(self)
        yield stream.tell("response.created", response=self.frame("in_progress"))
        yield stream.tell("response.in_progress", response=self.frame("in_progress"))
        async for piece in pieces:
            if isinstance(piece, str):
                for event in stream.words(piece):
                    yield event
                continue
            error = piece if isinstance(piece, LraError) else failure_of(piece)
            for event in stream.finish_words():
                yield event
            if error is not None:
                failed = self.frame("failed", stream.output, error=_error(error))
                yield stream.tell("response.failed", response=failed)
            elif isinstance(piece, TurnAtRest):
                for event in stream.calls(piece.calls):
                    yield event
                ended = self._ended(piece.turn, stream.output)
                yield stream.tell(f"response.{ended['status']}", response=ended)

    def frame(self, status: str, output: Sequence[Json] = (), *, error: Json | None = None) -> Json:
        """A response in some state."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": error,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": list(output),
            "parallel_tool_calls": True,
            "previous_response_id": self.previous,
            "store": True,
            "temperature": None,
            "text": {"format": _format(self.form)},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None,
        }

    def _ended(self, turn: Turn, output: Sequence[Json]) -> Json:
        limited = turn.status is TurnStatus.LIMITED
        ended = self.frame("incomplete" if limited else "completed", output)
        if limited:
            ended["incomplete_details"] = {"reason": "max_output_tokens"}
        return {**ended, "usage": _used(self.before, turn.spent)}

    @property
    def message_id(self) -> str:
        """The id of its message."""
        return f"msg_{self.id.removeprefix('resp_')}"

    def message(self, text: str | None) -> Json:
        """A message; without a word yet when None."""
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "status": "in_progress" if text is None else "completed",
            "content": [] if text is None else [_part(text)],
        }


class _Stream:
    """The events of one response, numbered."""

    def __init__(self, answer: ResponseRenderer) -> None:
        self.output: list[Json] = []
        """The items that are complete."""
        self._answer = answer
        self._number = -1
        self._text = ""

    def tell(self, kind: str, **what: object) -> bytes:
        """One event."""
        self._number += 1
        data = {"type": kind, "sequence_number": self._number, **what}
        return event(data, kind)

    def words(self, text: str) -> Iterator[bytes]:
        """A few more words."""
        if not self._text:
            begun = self._answer.message(None)
            yield self.tell("response.output_item.added", output_index=0, item=begun)
            yield self._of_text("response.content_part.added", part=_part(""))
        self._text += text
        yield self._of_text("response.output_text.delta", delta=text, logprobs=[])

    def finish_words(self) -> Iterator[bytes]:
        """All words are there."""
        if not self._text:
            return
        text, self._text = self._text, ""
        item = self._answer.message(text)
        yield self._of_text("response.output_text.done", text=text, logprobs=[])
        yield self._of_text("response.content_part.done", part=_part(text))
        yield self.tell("response.output_item.done", output_index=0, item=item)
        self.output.append(item)

    def calls(self, calls: Sequence[ToolCallRecord]) -> Iterator[bytes]:
        """Calls for the client."""
        for call in calls:
            place = len(self.output)
            begun, item = _call(call, "", "in_progress"), _call(call, call.args, "completed")
            about = {"item_id": item["id"], "output_index": place}
            yield self.tell("response.output_item.added", output_index=place, item=begun)
            yield self.tell("response.function_call_arguments.delta", **about, delta=call.args)
            yield self.tell(
                "response.function_call_arguments.done",
                **about,
                name=call.tool,
                arguments=call.args,
            )
            yield self.tell("response.output_item.done", output_index=place, item=item)
            self.output.append(item)

    def _of_text(self, kind: str, **what: object) -> bytes:
        about = {"item_id": self._answer.message_id, "output_index": 0, "content_index": 0}
        return self.tell(kind, **about, **what)


def _format(form: AnswerForm | None) -> Json:
    if form is None or not form.json:
        return {"type": "text"}
    if form.schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "name": form.name, "schema": dict(form.schema)}


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(call: ToolCallRecord, arguments: str, status: str) -> Json:
    return {
        "id": f"fc_{call.call_id}",
        "type": "function_call",
        "call_id": call.call_id,
        "name": call.tool,
        "arguments": arguments,
        "status": status,
    }


def _error(error: LraError) -> Json:
    return {"code": "server_error", "message": str(error)}


def _tokens(before: Spent, now: Spent) -> tuple[int, int]:
    return now.input_tokens - before.input_tokens, now.output_tokens - before.output_tokens


def _used(before: Spent, now: Spent) -> Json:
    taken, given = _tokens(before, now)
    return {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": taken + given,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRenderer:
    """One completion: a turn in the chat-completions protocol."""

    completion: Completion
    before: Spent
    """What the turn had used before."""
    usage: bool = False
    """Whether a stream ends with what was used."""

    def whole(self, rest: TurnAtRest) -> Json:
        """All of it at once."""
        message: Json = {"content": rest.sent or None}
        if rest.calls:
            message["tool_calls"] = _completion_calls(rest.calls)
        return self.message(message, finish_of(rest), rest.turn.spent)

    def message(self, message: Json, finish: str, spent: Spent) -> Json:
        """A completion of one message."""
        return self.completion.whole({"refusal": None, **message}, finish, self._used(spent))

    async def spoken(self, text: str, spent: Spent) -> AsyncGenerator[bytes]:
        """A stream of words that are all there."""
        yield self.completion.opening(text)
        for chunk in self.ending([], "stop", spent):
            yield chunk

    async def events(self, pieces: Pieces) -> AsyncGenerator[bytes]:
        """Chunk by chunk, as server-sent events."""
        yield self.completion.opening()
        async for piece in pieces:
            if isinstance(piece, str):
                yield self.completion.chunk({"content": piece})
                continue
            error = piece if isinstance(piece, LraError) else failure_of(piece)
            if error is not None:
                yield event(openai_error(error.http_status, ErrorBody.of(error)))
                return
            if isinstance(piece, TurnAtRest):
                for chunk in self.ending(piece.calls, finish_of(piece), piece.turn.spent):
                    yield chunk

    def ending(self, calls: Sequence[ToolCallRecord], finish: str, spent: Spent) -> list[bytes]:
        """The last chunks of a stream."""
        chunks = [self.completion.calls_chunk(_completion_calls(calls))] if calls else []
        chunks.append(self.completion.chunk({}, finish))
        if self.usage:
            chunks.append(self.completion.usage_chunk(self._used(spent)))
        return [*chunks, DONE]

    def _used(self, now: Spent) -> Json:
        return usage_json(*_tokens(self.before, now))


def finish_of(rest: TurnAtRest) -> str:
    """Why the completion ends here."""
    if rest.calls:
        return "tool_calls"
    return "length" if rest.turn.status is TurnStatus.LIMITED else "stop"


def _completion_calls(calls: Sequence[ToolCallRecord]) -> list[Json]:
    return [call_json(call.call_id, call.tool, call.args) for call in calls]
