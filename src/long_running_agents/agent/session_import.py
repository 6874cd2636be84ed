"""Reading a session that was written out, whoever wrote it.

What comes in is data. Its turns are over, so nothing of it is ever taken up or retried; its calls
have results, so none of them runs; nothing in it speaks as the system, and no file or address in it
is looked at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from long_running_agents.agent import transcript
from long_running_agents.agent.model_request import picture_names, picture_prompt
from long_running_agents.domain import text as domain_text
from long_running_agents.domain.events import (
    EVENT,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    PlanReady,
    RuleChanged,
    WorkPhaseChanged,
)
from long_running_agents.domain.picture import Picture, from_urls
from long_running_agents.domain.session import Mode
from long_running_agents.domain.task import TaskStatus
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import UsageError
from long_running_agents.store.imported_sessions import (
    ImportedEvent,
    ImportedSession,
    ImportedTask,
    ImportedTurn,
)

MOST = 64 << 20
"""Bytes of the longest export that is taken."""

_MOST_TURNS = 10_000
_NOT_RUN = "Not run: the turn ended before."
_ENVELOPE = ("kind", "seq", "session_id", "turn_id", "at")
_FIRST_YEAR, _LAST_YEAR = 1970, 9000


class _Line(BaseModel):
    # Fields that another version has, or that are ours to decide, are left out.
    model_config = ConfigDict(frozen=True, extra="ignore")


class _SessionLine(_Line):
    id: str = Field(max_length=1000)
    title: str = Field(max_length=1000)
    mode: Mode = Mode.BOUNDED
    created_at: AwareDatetime


class _TurnLine(_Line):
    id: str = Field(max_length=1000)
    prompt: str
    answer: str = ""
    error: str = ""
    status: str = ""
    created_at: AwareDatetime
    ended_at: AwareDatetime | None = None


class _MessageLine(_Line):
    turn_id: str
    step: int = Field(ge=1, le=1_000_000)
    message: dict[str, Any]


class _EventLine(_Line):
    turn_id: str | None = None
    at: AwareDatetime


class _RuleLine(_Line):
    text: str = Field(max_length=10_000)


class _TaskLine(_Line):
    number: int = Field(ge=1)
    title: str = Field(max_length=10_000)
    description: str = ""
    status: TaskStatus
    parent: int | None = None
    result: str = ""


@dataclass
class _Log:
    told: _TurnLine
    place: int
    """Which of the turns it is."""
    messages: list[tuple[int, ModelMessage]] = field(default_factory=list[tuple[int, ModelMessage]])


_NOT_TOLD = (ApprovalRequested, ApprovalResolved, RuleChanged, WorkPhaseChanged, PlanReady)


class _Reader:
    """Puts lines together."""

    def __init__(self) -> None:
        self.session: _SessionLine | None = None
        self.logs: dict[str, _Log] = {}
        self.events: list[ImportedEvent] = []
        self.tasks: dict[int, ImportedTask] = {}
        self.rules: list[str] = []
        self.pictures: list[Picture] = []
        self._kinds: dict[object, Callable[[dict[str, Any]], None]] = {
            "session": self._take_session,
            "turn": self._take_turn,
            "message": self._take_message,
            "picture": self._take_picture,
            "event": self._take_event,
            "task": self._take_task,
            "rule": self._take_rule,
        }

    def take(self, item: object) -> None:
        """Take one line."""
        kind = item.get("kind") if isinstance(item, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        take = self._kinds.get(kind) if isinstance(kind, str) else None
        if take is None:
            raise UsageError("it is no part of a session")
        if (self.session is None) != (kind == "session"):
            raise UsageError("the session has to come first, and once")
        take(item)  # pyright: ignore[reportArgumentType]

    def _take_session(self, item: dict[str, Any]) -> None:
        self.session = _SessionLine.model_validate(item)

    def _take_turn(self, item: dict[str, Any]) -> None:
        turn = _TurnLine.model_validate(item)
        if turn.id in self.logs or len(self.logs) >= _MOST_TURNS:
            raise UsageError("there are too many turns, or one is there twice")
        self.logs[turn.id] = _Log(turn, len(self.logs))

    def _take_message(self, item: dict[str, Any]) -> None:
        line = _MessageLine.model_validate(item)
        log = self.logs.get(line.turn_id)
        if log is None:
            raise UsageError("its turn is not there")
        [message] = ModelMessagesTypeAdapter.validate_python([line.message])
        log.messages.append((line.step, message))

    def _take_picture(self, item: dict[str, Any]) -> None:
        # Named after what it holds, whatever the line calls it.
        self.pictures += from_urls([f"data:;base64,{item.get('data')}"])

    def _take_event(self, item: dict[str, Any]) -> None:
        line = _EventLine.model_validate(item)
        told = {key: value for key, value in item.items() if key not in _ENVELOPE}
        event: Event = EVENT.validate_python(told)
        # Nobody can answer them here, no work goes on, and a rule is told of anew, as a suggestion.
        if isinstance(event, _NOT_TOLD):
            return
        log = None if line.turn_id is None else self.logs.get(line.turn_id)
        place = None if log is None else log.place
        self.events.append(ImportedEvent(turn=place, at=_sensible(line.at), event=event))

    def _take_task(self, item: dict[str, Any]) -> None:
        line = _TaskLine.model_validate(item)
        if line.number in self.tasks:
            raise UsageError("a task is there twice")
        task = ImportedTask(**dict(line))
        # Only an earlier one, so that the tree has a root.
        known = task.parent if task.parent in self.tasks else None
        self.tasks[task.number] = replace(task, parent=known)

    def _take_rule(self, item: dict[str, Any]) -> None:
        self.rules.append(_RuleLine.model_validate(item).text)


def read(text: str) -> ImportedSession:
    """Read an export in JSON lines.

    Raises:
        UsageError: It is none, or says what no session can be.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MOST:
        raise UsageError(f"An export has at most {MOST >> 20} MB.")
    reader = _Reader()
    # Not splitlines(): some characters of a text are the ends of lines to it.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            reader.take(domain_text.parse(line))
        except (UsageError, ValidationError) as error:
            why = error.message if isinstance(error, UsageError) else _why(error)
            raise UsageError(
                f"Line {number} cannot be taken over: {why.rstrip('.')}.",
                hint="Nothing was taken over. Send what an export in JSON lines wrote.",
            ) from None
    session = reader.session
    if session is None:
        raise UsageError("There is no session in it.", hint="Send an export in JSON lines.")
    return ImportedSession(
        wanted_id=session.id,
        title=" ".join(session.title.split()) or "Imported session",
        mode=session.mode,
        created_at=_sensible(session.created_at),
        turns=tuple(_turn(log) for log in reader.logs.values()),
        events=tuple(reader.events),
        tasks=tuple(reader.tasks.values()),
        rules=tuple(reader.rules),
        pictures=tuple(reader.pictures),
    )


def _why(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _sensible(moment: datetime) -> datetime:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise UsageError(f"{moment.year} is no year in which anybody used this.")
    return moment


def _turn(log: _Log) -> ImportedTurn:
    told = log.told
    answer = told.answer or f"(This turn ended without an answer: {told.error or 'imported'}.)"
    # What was said to another turn is in the log of that one.
    elsewhere = told.status == TurnStatus.STEERED and not log.messages
    messages = [message for _, message in log.messages]
    whole = [] if elsewhere else mended(told.prompt, answer, messages)
    last = log.messages[-1][0] if log.messages else 1
    steps = [step for step, _ in log.messages] + [last] * len(whole)
    return ImportedTurn(
        prompt=told.prompt,
        answer=told.answer,
        error=told.error,
        created_at=_sensible(told.created_at),
        ended_at=_sensible(told.ended_at or told.created_at),
        messages=tuple(
            transcript.stored(message, 1 if place == 0 else steps[place])
            for place, message in enumerate(whole)
        ),
    )


def mended(prompt: str, answer: str, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """A log that another turn can follow: questions and answers by turns, every call answered."""
    found: list[ModelMessage] = []
    open_calls: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ModelRequest):
            parts = [*_asked(message, open_calls), *_unanswered(open_calls)]
            _join(found, ModelRequest(parts=parts))
            open_calls = {}
            continue
        if not found or open_calls:
            begun: list[ModelRequestPart] = [] if found else [UserPromptPart(prompt)]
            _join(found, ModelRequest(parts=[*begun, *_unanswered(open_calls)]))
        said = ModelResponse(parts=_answered(message), model_name="imported")
        _join(found, said)
        open_calls = {part.tool_call_id: part.tool_name for part in transcript.calls_of(said)}
    if not found:
        found.append(ModelRequest(parts=[UserPromptPart(prompt)]))
    if open_calls:
        found.append(ModelRequest(parts=_unanswered(open_calls)))
    if isinstance(found[-1], ModelRequest):
        found.append(ModelResponse(parts=[TextPart(answer)], model_name="imported"))
    return found


def _join(found: list[ModelMessage], message: ModelMessage) -> None:
    """Add a message; where the last was of the same side, they become one."""
    last = found[-1] if found else None
    match last, message:
        case (ModelRequest(), ModelRequest()) | (ModelResponse(), ModelResponse()):
            found[-1] = replace(last, parts=[*last.parts, *message.parts])
        case _ if message.parts:
            found.append(message)
        case _:
            pass


def _asked(message: ModelRequest, open_calls: dict[str, str]) -> list[ModelRequestPart]:
    """What a request may say: words of the user, and results of the calls just made."""
    parts: list[ModelRequestPart] = []
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            _, text = transcript.words(part)
            # Names of pictures, and no address: what the session does not have is not shown.
            parts.append(UserPromptPart(picture_prompt(text, picture_names(part))))
        elif isinstance(part, ToolReturnPart) and part.tool_call_id in open_calls:
            parts.append(
                ToolReturnPart(
                    tool_name=open_calls.pop(part.tool_call_id),
                    content=part.model_response_str(wrap_if_error=False),
                    tool_call_id=part.tool_call_id,
                    outcome="success" if part.outcome == "success" else "failed",
                )
            )
    return parts


def _unanswered(open_calls: dict[str, str]) -> list[ModelRequestPart]:
    outcome: Literal["failed"] = "failed"
    return [
        ToolReturnPart(tool_name=name, content=_NOT_RUN, tool_call_id=key, outcome=outcome)
        for key, name in open_calls.items()
    ]


def _answered(message: ModelResponse) -> list[ModelResponsePart]:
    """What a response may say: words, and calls with ids of their own."""
    parts: list[ModelResponsePart] = []
    used: set[str] = set()
    for part in message.parts:
        if isinstance(part, TextPart):
            parts.append(TextPart(part.content))
        elif isinstance(part, ToolCallPart) and part.tool_call_id not in used:
            used.add(part.tool_call_id)
            args = part.args_as_dict(raise_if_invalid=False)
            parts.append(ToolCallPart(part.tool_name, args, part.tool_call_id))
    return parts or [TextPart("")]
