"""A session's log as a person reads a conversation: who said what, in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue
from pydantic_ai.messages import (
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    ToolReturnPart,
    UserPromptPart,
)

from long_running_agents.agent import transcript
from long_running_agents.domain.ids import TurnId
from long_running_agents.store.messages import LoggedMessage

Role = Literal["user", "assistant", "tool", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call that the model asked for."""

    id: str
    tool: str
    input: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
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


def said(logged: Sequence[LoggedMessage]) -> list[Said]:
    """What a part of the log says."""
    messages = transcript.loaded([each.message for each in logged])
    found: list[Said] = []
    for place, message in zip(logged, messages, strict=True):
        if isinstance(message, ModelResponse):
            found.append(_answer(place, message))
        else:
            found.extend(_asked(place, message.parts))
    return found


def _answer(place: LoggedMessage, response: ModelResponse) -> Said:
    calls = tuple(
        ToolRequest(
            id=part.tool_call_id,
            tool=part.tool_name,
            input=part.args_as_dict(raise_if_invalid=False),
        )
        for part in transcript.calls_of(response)
    )
    return Said(
        seq=place.seq,
        turn_id=place.turn_id,
        step=place.message.step,
        at=place.at,
        role="assistant",
        content=transcript.text_of(response),
        calls=calls,
    )


def _asked(place: LoggedMessage, parts: Sequence[ModelRequestPart]) -> Iterator[Said]:
    for part in parts:
        role, text = words(part)
        result = part if isinstance(part, ToolReturnPart) else None
        yield Said(
            seq=place.seq,
            turn_id=place.turn_id,
            step=place.message.step,
            at=place.at,
            role=role,
            content=text,
            tool="" if result is None else result.tool_name,
            call_id="" if result is None else result.tool_call_id,
        )


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
