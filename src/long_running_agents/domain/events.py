"""Events and deltas: everything a listener can hear about a turn.

An *Event* is a fact. It is stored, then rung, and carries a number that grows by one within its
session; whoever was away asks for "after 41". A *Delta* is passing news (words as they arrive, a
step that begins): it has no number, is never stored and may be lost without harm.

The shapes are the WebSocket messages of the API: one schema for storage, terminal and wire.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.described import Described
from long_running_agents.domain.ids import SessionId, TurnId


class _Shape(Described):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MessageAccepted(_Shape):
    """A message is on disk and will be answered."""

    type: Literal["message"] = "message"
    content: str
    origin: str


class TurnResumed(_Shape):
    """A turn goes on after its process died or a person asked for it."""

    type: Literal["resumed"] = "resumed"
    attempt: int
    """How often the turn has been picked up since it last got on, this time included."""
    asked: bool = False
    """Whether a person asked for it, after the turn had ended."""


class ToolCalled(_Shape):
    """The model asked for a tool."""

    type: Literal["tool_call"] = "tool_call"
    tool: str
    input: JsonValue
    tool_call_id: str
    effect: str


class ToolReturned(_Shape):
    """A tool call has an outcome."""

    type: Literal["tool_result"] = "tool_result"
    tool: str
    tool_call_id: str
    result_preview: str
    duration_ms: int
    success: bool
    outcome: str
    """done, failed, denied or uncertain."""


class ApprovalRequested(_Shape):
    """A call waits for a person's answer."""

    type: Literal["approval_request"] = "approval_request"
    approval_id: str
    tool: str
    input: JsonValue
    tool_call_id: str
    question: str
    scope: str = ""
    """What a lasting answer would cover; empty when only this call can be allowed."""
    expires_at: datetime | None = None
    """Until when it can be answered; null for ever."""


class ApprovalResolved(_Shape):
    """A question was answered or withdrawn, or has expired."""

    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    tool_call_id: str
    allowed: bool
    reason: str = ""
    lasting: str = "once"
    """How long the answer is good for: once, session or always."""


class ClientCalled(_Shape):
    """A call waits for the program that asked: it runs the tool, and delivers the result."""

    type: Literal["client_call"] = "client_call"
    tool: str
    input: JsonValue
    tool_call_id: str


class RecalledMemory(_Shape):
    """One memory as listeners see it."""

    id: int
    kind: str
    trust: str
    """Who said it: user, agent, tool or web."""
    source: str
    session_id: str | None = None
    at: datetime
    text: str
    """The beginning of it."""


class MemoriesRecalled(_Shape):
    """Memories came to mind before the model was asked."""

    type: Literal["recalled"] = "recalled"
    memories: list[RecalledMemory]
    degraded: str = ""
    """Why only a part of the search was available; empty when all of it was."""


class TextWritten(_Shape):
    """The model finished a piece of text."""

    type: Literal["text"] = "text"
    text: str


class TaskItem(_Shape):
    """One task as listeners see it."""

    number: int
    title: str
    status: str
    parent: int | None = None


class TasksChanged(_Shape):
    """The session's task tree changed."""

    type: Literal["task_update"] = "task_update"
    tasks: list[TaskItem]
    summary: str


class ModelFellBack(_Shape):
    """Another model answered than the one that was asked."""

    type: Literal["model_fallback"] = "model_fallback"
    asked: str
    answered: str
    reason: str


class PromptTruncated(_Shape):
    """A server has read only the end of what it was sent: the model works without the beginning.

    Told once for each model of a session.
    """

    type: Literal["prompt_truncated"] = "prompt_truncated"
    model: str
    sent_tokens: int
    """What was sent, about."""
    window: int
    """What the server says it has read: all that it has room for."""
    hint: str
    """What mends it."""


class ModelChanged(_Shape):
    """A person chose another model for the session."""

    type: Literal["model_changed"] = "model_changed"
    model: str


class ModeChanged(_Shape):
    """A person lets the session go farther on its own, or less far."""

    type: Literal["mode_changed"] = "mode_changed"
    mode: str


class SessionRenamed(_Shape):
    """The session has another title."""

    type: Literal["renamed"] = "renamed"
    title: str


class SessionCleared(_Shape):
    """The model begins anew: what was said before stays in the log, and is not shown to it."""

    type: Literal["cleared"] = "cleared"


class SkillChanged(_Shape):
    """A skill of the session's owner is proposed, in use, or not any more."""

    type: Literal["skill"] = "skill"
    name: str
    version: int
    change: str
    """proposed, enabled or disabled."""
    note: str = ""
    """Why, when that is not plain."""


class UsageTotals(_Shape):
    """What a turn used."""

    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None when no request of the turn had a known price."""

    @classmethod
    def of(cls, spent: Spent) -> "UsageTotals":
        """What was spent, as listeners are told it."""
        return cls(
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost=float(spent.cost) if spent.cost else None,
        )


class TurnDone(_Shape):
    """The turn has its final answer."""

    type: Literal["done"] = "done"
    text: str
    iterations: int
    model: str
    usage: UsageTotals
    mode: str


class TurnStopped(_Shape):
    """A person stopped the turn."""

    type: Literal["stopped"] = "stopped"
    text: str
    """The words that had been written by then."""


class TurnLimited(_Shape):
    """A budget ended the turn."""

    type: Literal["limit"] = "limit"
    limit: str
    text: str
    """Which limit it was and what is left to do."""


class TurnFailed(_Shape):
    """The turn could not go on; it can be retried."""

    type: Literal["error"] = "error"
    code: str
    message: str
    hint: str = ""


Event = Annotated[
    MessageAccepted
    | TurnResumed
    | ToolCalled
    | ToolReturned
    | ApprovalRequested
    | ApprovalResolved
    | ClientCalled
    | MemoriesRecalled
    | TextWritten
    | TasksChanged
    | ModelFellBack
    | PromptTruncated
    | ModelChanged
    | ModeChanged
    | SessionRenamed
    | SessionCleared
    | SkillChanged
    | TurnDone
    | TurnStopped
    | TurnLimited
    | TurnFailed,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)

CLOSING = (TurnDone, TurnStopped, TurnLimited, TurnFailed)
"""Exactly one of these ends every turn."""


class StepBegan(_Shape):
    """The model is being asked."""

    type: Literal["thinking"] = "thinking"
    iteration: int
    max_iterations: int | None = None
    tokens_used: int = 0
    token_budget: int | None = None
    task_summary: str = ""
    """How far the session's tasks are."""


class WordsArrived(_Shape):
    """A few more words of an answer in the making."""

    type: Literal["text_delta"] = "text_delta"
    text: str
    iteration: int


class RequestRetried(_Shape):
    """A model request failed and is made again: forget the words of this step."""

    type: Literal["retry"] = "retry"
    model: str
    reason: str
    wait_seconds: float
    iteration: int


class FellBehind(_Shape):
    """The listener was too slow: words of this step are lost to it, facts are not."""

    type: Literal["catch_up"] = "catch_up"


Delta = StepBegan | WordsArrived | RequestRetried | FellBehind


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event with its place in the session's log."""

    seq: int
    session_id: SessionId
    turn_id: TurnId | None
    owner: str
    """Who may hear it."""
    at: datetime
    event: Event

    def wire(self) -> dict[str, Any]:
        """The event as listeners outside the process receive it."""
        return {
            **self.event.model_dump(mode="json"),
            "seq": self.seq,
            "session_id": self.session_id,
            "turn_id": self.turn_id,
            "at": self.at.isoformat(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """A delta on its way to the listeners."""

    session_id: SessionId
    turn_id: TurnId
    owner: str
    """Who may hear it."""
    delta: Delta

    def wire(self) -> dict[str, Any]:
        """The delta as listeners outside the process receive it."""
        return {
            **self.delta.model_dump(mode="json"),
            "session_id": self.session_id,
            "turn_id": self.turn_id,
        }
