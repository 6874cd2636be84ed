"""Events and deltas: everything a listener can hear about a turn.

An *Event* is a fact. It is stored, then published, and carries a number that grows by one within
its session; whoever was away asks for "after 41". A *Delta* is passing news (words as they arrive,
a step that begins): it has no number, is never stored and may be lost without harm.

The shapes are the WebSocket messages of the API: one schema for storage, terminal and wire.
"""

import ast
import inspect
import sys
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, JsonValue, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from long_running_agents.domain.budget import BudgetLine, Spent
from long_running_agents.domain.ids import SessionId, TurnId, shown


class DescribedModel(BaseModel):
    """A shape that tells in its JSON Schema what its fields mean."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, meaning in meanings(cls).items():
            field = cls.model_fields[name]
            told = properties.get(field.serialization_alias or field.alias or name)
            if told is not None:
                told.setdefault("description", meaning)
        return schema


def meanings(shape: type[Any]) -> dict[str, str]:
    """What the fields of a model or a dataclass mean, by their names: the strings below them."""
    found: dict[str, str] = {}
    for each in reversed(shape.__mro__):
        found |= _written(each.__module__).get(each.__qualname__, {})
    known = shape.model_fields if issubclass(shape, BaseModel) else shape.__dataclass_fields__
    return {name: meaning for name, meaning in found.items() if name in known}


@cache
def _written(module: str) -> dict[str, dict[str, str]]:
    """The strings below the fields of every class of a module."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        # Installed without its source.
        return {}
    return {each.name: dict(_strings(each)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _strings(shape: ast.ClassDef) -> list[tuple[str, str]]:
    return [
        (field.target.id, inspect.cleandoc(string.value.value))
        for field, string in zip(shape.body, shape.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(string, ast.Expr)
        and isinstance(string.value, ast.Constant)
        and isinstance(string.value.value, str)
    ]


class _Shape(DescribedModel):
    # Made when one is met for the first time: most commands meet few of them.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class MessageAccepted(_Shape):
    """A message is on disk and will be answered."""

    type: Literal["message"] = "message"
    content: str
    origin: str
    steer: bool = False
    """Whether it is for the turn that runs, at its next step."""


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
    path: str = ""
    """Who asks, if a delegate does: ``main > researcher``."""


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


class SessionCompacted(_Shape):
    """Turns leave the view of the model; a summary stands for them, or a line for each."""

    type: Literal["compacted"] = "compacted"
    first: int
    """The number of the first of them."""
    last: int
    summary: bool
    """Whether a summary was made and believed."""
    faults: list[str] = []
    """Why summaries were refused."""


class SkillChanged(_Shape):
    """A skill of the session's owner is proposed, in use, or not any more."""

    type: Literal["skill"] = "skill"
    name: str
    version: int
    change: str
    """proposed, enabled or disabled."""
    note: str = ""
    """Why, when that is not plain."""


class RuleChanged(_Shape):
    """A rule is suggested, pinned, enforced, or not any more."""

    type: Literal["rule"] = "rule"
    rule_id: int
    text: str
    scope: str
    state: str
    """suggested, active, lifted or dismissed."""
    source: str
    """How it came about: person, quotation, detector or import."""
    enforced: bool = False
    """Whether the gate enforces it, too."""


class BudgetTight(_Shape):
    """Much of a budget is used; told once in a turn."""

    type: Literal["budget"] = "budget"
    scope: str
    """turn, work, session or day."""
    resource: str
    """tokens or cost."""
    limit: float
    wrap_up: bool
    """Whether only the part is left that is kept for a last answer."""

    @classmethod
    def of(cls, line: BudgetLine, *, wrap_up: bool) -> "BudgetTight":
        """What a limit says of itself."""
        return cls(scope=line.scope, resource=line.resource, limit=line.limit, wrap_up=wrap_up)


class WorkPhaseChanged(_Shape):
    """A work is in another phase, is paused, or goes on."""

    type: Literal["work_phase"] = "work_phase"
    work_id: str
    goal: str
    phase: str
    """planning, plan_ready, executing, reviewing, complete or abandoned."""
    pause: str | None = None
    """limit, question, stuck or person, while it is paused."""
    note: str = ""
    """What a person is asked or told about it."""
    plan_version: int = 0


class PlanReady(_Shape):
    """A plan, or a change of one, waits for a person: approve_plan or revise_plan answers."""

    type: Literal["plan_ready"] = "plan_ready"
    work_id: str
    version: int
    """Which version it would be."""
    tasks: list[TaskItem]
    reason: str = ""
    """Why the plan is to be changed; empty for the first one."""
    forecast: str = ""
    """What it may take, in words."""


class EvidenceFound(_Shape):
    """Whoever checks a task has looked."""

    type: Literal["evidence"] = "evidence"
    work_id: str
    task: int
    kind: str
    """file, command, call, fetch, judged or human."""
    state: str
    """claimed, verified, refuted, judged or waived."""
    proof: str
    by: str


class WorkStuck(_Shape):
    """A work repeats itself: it is told, then has to find another way, then waits for a person."""

    type: Literal["stuck"] = "stuck"
    work_id: str
    signal: str
    detail: str
    alerts: int
    """How often since a person last looked."""


class AgentChanged(_Shape):
    """Another agent answers from this turn on."""

    type: Literal["agent_changed"] = "agent_changed"
    agent: str
    """name@version; empty for the home's own."""
    routed: dict[str, JsonValue] | None = None
    """Why it was chosen, if nobody named it."""


class DelegateStarted(_Shape):
    """An agent begins to work for the turn."""

    type: Literal["delegate_started"] = "delegate_started"
    agent: str
    """name@version."""
    task: str
    tool_call_id: str
    """The call that began it, or the link of a chain."""
    delegate_session: str
    delegate_id: str
    """Its turn."""
    background: bool = False


class DelegateEnded(_Shape):
    """An agent that worked for the turn has ended, and its receipt is there."""

    type: Literal["delegate_done"] = "delegate_done"
    agent: str
    tool_call_id: str
    delegate_session: str
    delegate_id: str
    status: str
    tokens: int
    cost: Decimal = Decimal(0)
    seconds: float
    no_work_seen: bool = False
    """Whether it made no call although its task names files or sources."""


class AgentAnomaly(_Shape):
    """A turn took far more or far less than the turns of its agent usually do."""

    type: Literal["agent_anomaly"] = "agent_anomaly"
    agent: str
    """As in coder@2."""
    what: str
    """tokens or seconds."""
    value: float
    usual: float
    """The median of its turns before."""


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
    not_seen: list[str] = []
    """Paths, commands, URLs, test counts and exit codes that the answer claims and that none of the
    session's newest 2,000 calls knows, denied ones aside; at most ten."""


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


class MessageSteered(_Shape):
    """A message was given to the turn that runs, beside the results of a step."""

    type: Literal["steered"] = "steered"
    content: str
    into: str
    """The turn that it was given to, and that answers it."""


Event = Annotated[
    MessageAccepted | TurnResumed | ToolCalled | ToolReturned | ApprovalRequested | ApprovalResolved
    | ClientCalled | MemoriesRecalled | TextWritten | TasksChanged | ModelFellBack | PromptTruncated
    | ModelChanged | ModeChanged | SessionRenamed | SessionCleared | SessionCompacted | SkillChanged
    | AgentChanged | DelegateStarted | DelegateEnded
    | RuleChanged | BudgetTight | WorkPhaseChanged | PlanReady | EvidenceFound | WorkStuck
    | AgentAnomaly
    | TurnDone | TurnStopped | TurnLimited | TurnFailed
    | MessageSteered,
    Field(discriminator="type"),
]  # fmt: skip

EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))

CLOSING = (TurnDone, TurnStopped, TurnLimited, TurnFailed, MessageSteered)
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
class EventEnvelope:
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
            "session_id": shown(self.session_id),
            "turn_id": self.turn_id,
            "at": self.at.isoformat(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaEnvelope:
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
            "session_id": shown(self.session_id),
            "turn_id": self.turn_id,
        }
