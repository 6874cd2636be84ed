"""Between the library's messages and the text we store."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal

from pydantic import JsonValue, TypeAdapter
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.tool import CallState, ToolCallRecord
from long_running_agents.domain.turn import Turn
from long_running_agents.store.integrity import unreadable
from long_running_agents.store.messages import LoggedMessage, StoredMessage

_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)


def stored(message: ModelMessage, step: int) -> StoredMessage:
    """A message as text; instructions are made anew for each request and are not kept."""
    if isinstance(message, ModelRequest):
        message = replace(message, instructions=None)
    # By the library's own adapter of a list: another one takes 35 ms to make.
    listed = ModelMessagesTypeAdapter.dump_json([message], exclude_none=True)
    return StoredMessage(step=step, kind=message.kind, body=listed[1:-1].decode())


def loaded(stored_messages: Sequence[StoredMessage]) -> list[ModelMessage]:
    """Messages from their text, all in one pass."""
    bodies = ",".join(message.body for message in stored_messages)
    try:
        return ModelMessagesTypeAdapter.validate_json(f"[{bodies}]")
    except ValueError as error:
        raise unreadable(error) from error


def text_of(response: ModelResponse) -> str:
    """The words of a response."""
    return "\n\n".join(part.content for part in response.parts if isinstance(part, TextPart))


def calls_of(response: ModelResponse) -> list[ToolCallPart]:
    """The tool calls of a response."""
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


def makes_sense(part: ToolCallPart) -> bool:
    """Whether the arguments of a call are an object."""
    try:
        part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return False
    return True


def with_own_ids(response: ModelResponse, taken: Iterable[str]) -> ModelResponse:
    """Give calls new ids where the server's are missing or used before in this turn."""
    used = set(taken)
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            known = part.tool_call_id if part.tool_call_id not in used else ""
            call_id = known or f"call_{secrets.token_hex(8)}"
            used.add(call_id)
            parts.append(replace(part, tool_call_id=call_id))
        else:
            parts.append(part)
    return replace(response, parts=parts)


def result_text(result: object) -> str:
    """A tool's result as JSON text."""
    return _ANYTHING.dump_json(result, fallback=str).decode()


def result_value(text: str | None) -> object:
    """A tool's result from its JSON text."""
    return None if text is None else _ANYTHING.validate_json(text)


def closing(
    turn: Turn, messages: Sequence[ModelMessage], calls: Sequence[ToolCallRecord]
) -> list[ModelMessage]:
    """What an unfinished turn's log lacks to be followed by another turn.

    Every question gets an answer and every call a result, whatever ended the turn.
    """
    missing: list[ModelMessage] = []
    last = messages[-1] if messages else None
    if last is None:
        missing.append(ModelRequest(parts=[UserPromptPart(turn.prompt)]))
    elif isinstance(last, ModelResponse):
        open_calls = calls_of(last)
        if not open_calls:
            return []
        known = {call.call_id: call for call in calls}
        missing.append(
            ModelRequest(
                parts=[_outcome(part, known.get(part.tool_call_id)) for part in open_calls]
            )
        )
    note = turn.answer or f"(This turn ended without an answer: {turn.error or turn.status}.)"
    return [*missing, ModelResponse(parts=[TextPart(note)], model_name="lra")]


def _outcome(part: ToolCallPart, call: ToolCallRecord | None) -> ToolReturnPart:
    done = call is not None and call.state is CallState.DONE
    content = result_value(call.result) if call is not None else None
    return ToolReturnPart(
        tool_name=part.tool_name,
        content=content if content is not None or done else "Not run: the turn ended before.",
        tool_call_id=part.tool_call_id,
        outcome="success" if done else "failed",
    )


Role = Literal["user", "assistant", "tool", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call that the model asked for."""

    id: str
    tool: str
    input: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptEntry:
    """One thing that was said."""

    seq: int
    """The message in the log that it is a part of."""
    turn_id: TurnId
    step: int
    at: datetime
    role: Role
    content: str
    calls: tuple[ToolRequest, ...] = ()
    tool: str = ""
    """The tool whose result this is."""
    call_id: str = ""
    """The call whose result this is."""


def said(logged: Sequence[LoggedMessage]) -> list[TranscriptEntry]:
    """What a part of the log says."""
    messages = loaded([each.message for each in logged])
    return [
        entry
        for place, message in zip(logged, messages, strict=True)
        for entry in _entries(place, message)
    ]


def _entries(place: LoggedMessage, message: ModelMessage) -> Iterator[TranscriptEntry]:
    entry = partial(
        TranscriptEntry,
        seq=place.seq,
        turn_id=place.turn_id,
        step=place.message.step,
        at=place.at,
    )
    if isinstance(message, ModelResponse):
        calls = tuple(
            ToolRequest(
                id=part.tool_call_id,
                tool=part.tool_name,
                input=part.args_as_dict(raise_if_invalid=False),
            )
            for part in calls_of(message)
        )
        yield entry(role="assistant", content=text_of(message), calls=calls)
        return
    for part in message.parts:
        role, text = words(part)
        if isinstance(part, ToolReturnPart):
            yield entry(role=role, content=text, tool=part.tool_name, call_id=part.tool_call_id)
        else:
            yield entry(role=role, content=text)


def words(part: ModelRequestPart) -> tuple[Role, str]:
    """Who says a part of a request, and what."""
    match part:
        case UserPromptPart(content=str(text)):
            return "user", text
        case UserPromptPart(content=pieces):
            return "user", "\n\n".join(piece for piece in pieces if isinstance(piece, str))
        case SystemPromptPart(content=text):
            return "system", text
        case ToolReturnPart():
            return "tool", part.model_response_str(wrap_if_error=False)
        case RetryFeedbackPart(content=str(text)):
            return "system", text
        case _:
            # What the library only notes for itself.
            return "system", ""
