"""Sessions, what was said in them, and their tasks."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from long_running_agents.agent.saying import Said
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.session import Mode, Session, SessionPreview
from long_running_agents.domain.task import Task, TaskStatus
from long_running_agents.server.parameters import ID, SESSION_ID, Line
from long_running_agents.server.wire.shapes import Asked, Told

_SESSION: dict[str, JsonValue] = {
    "id": "my-session",
    "title": "Herons at the mill",
    "mode": "bounded",
    "model": None,
    "created_at": "2026-11-16T09:00:00Z",
    "updated_at": "2026-11-16T09:05:00Z",
    "turns": 2,
    "preview": "Two herons, both grey.",
    "forked_from": None,
}


class SessionTold(Told):
    """A session as a list shows it."""

    model_config = ConfigDict(json_schema_extra={"example": _SESSION})

    id: SessionId
    title: str
    mode: Mode
    model: str | None
    """The model chosen for it; null for the server's."""
    created_at: datetime
    updated_at: datetime
    turns: int
    preview: str
    """The beginning of what was said last."""
    forked_from: SessionId | None = None

    @classmethod
    def of(cls, found: SessionPreview) -> "SessionTold":
        """A preview, told."""
        session = found.session
        return cls(
            id=session.id,
            title=session.title,
            mode=session.mode,
            model=session.model,
            created_at=session.created_at,
            updated_at=session.updated_at,
            turns=found.turns,
            preview=found.last_words,
            forked_from=session.forked_from,
        )

    @classmethod
    def new(cls, session: Session) -> "SessionTold":
        """A session in which nothing was said yet."""
        return cls.of(SessionPreview(session=session, turns=0, last_words=""))


class SessionList(Told):
    """Sessions, the latest first."""

    sessions: list[SessionTold]
    total: int
    """How many there are in all."""
    next: int | None
    """The offset of the next page; null on the last one."""


class NewSession(Asked):
    """A session to begin."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"id": "my-session", "title": "Herons at the mill"}}
    )

    id: SessionId | None = Field(default=None, pattern=SESSION_ID)
    """What programs call it; made up unless given."""
    title: Line = "New session"
    model: Line | None = None
    """The model to ask, as provider:model; the server's unless given."""
    mode: Mode = Mode.BOUNDED


class SessionChange(Asked):
    """What becomes of a session; what is not given stays."""

    model_config = ConfigDict(json_schema_extra={"example": {"title": "Herons"}})

    title: Line | None = None
    mode: Mode | None = None
    model: Line | None = None


class Fork(Asked):
    """How much of a session to copy."""

    model_config = ConfigDict(json_schema_extra={"example": {"turn_id": None}})

    turn_id: TurnId | None = Field(default=None, pattern=ID)
    """The last turn to copy; the newest that ended unless given."""


class CallTold(Told):
    """A call that the model asked for."""

    id: str
    tool: str
    input: JsonValue


class MessageTold(Told):
    """One thing that was said."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "seq": 1,
                "role": "user",
                "content": "Which birds are at the mill?",
                "turn_id": "turn_01k9x0000000abcdefgh",
                "step": 1,
                "at": "2026-11-16T09:00:00Z",
                "tool_calls": [],
                "tool": "",
                "tool_call_id": "",
            }
        }
    )

    seq: int
    """Its place in the log; a message with several results is told as several things."""
    role: Literal["user", "assistant", "tool", "system"]
    content: str
    turn_id: TurnId
    step: int
    at: datetime
    tool_calls: list[CallTold]
    tool: str
    """The tool whose result this is."""
    tool_call_id: str
    """The call whose result this is."""

    @classmethod
    def of(cls, said: Said) -> "MessageTold":
        """What was said, told."""
        calls = [CallTold(id=call.id, tool=call.tool, input=call.input) for call in said.calls]
        return cls(
            seq=said.seq,
            role=said.role,
            content=said.content,
            turn_id=said.turn_id,
            step=said.step,
            at=said.at,
            tool_calls=calls,
            tool=said.tool,
            tool_call_id=said.call_id,
        )


class History(Told):
    """What was said in a session, in order."""

    session_id: SessionId
    messages: list[MessageTold]
    next: int | None
    """What to ask for as ``after`` to read on; null at the end."""


class TaskTold(Told):
    """A piece of work."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "session_id": "my-session",
                "number": 1,
                "title": "Count the herons",
                "description": "",
                "status": "pending",
                "parent": None,
                "result": "",
                "created_at": "2026-11-16T09:00:00Z",
                "updated_at": "2026-11-16T09:00:00Z",
            }
        }
    )

    session_id: SessionId
    number: int
    title: str
    description: str
    status: TaskStatus
    parent: int | None
    result: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, task: Task) -> "TaskTold":
        """A task, told."""
        return cls(
            session_id=task.session_id,
            number=task.number,
            title=task.title,
            description=task.description,
            status=task.status,
            parent=task.parent,
            result=task.result,
            created_at=task.created_at,
            updated_at=task.updated_at,
        )


class TaskNode(TaskTold):
    """A task with its parts."""

    children: list["TaskNode"]


class TaskTree(Told):
    """A session's tasks."""

    session_id: SessionId
    tasks: list[TaskTold]
    """In the order they were made."""
    tree: list[TaskNode]
    """The same, children within their parents."""
    summary: str


class TaskList(Told):
    """Tasks of several sessions, those changed last first."""

    tasks: list[TaskTold]
    next: int | None
    """The offset of the next page; null on the last one."""


class TaskChange(Asked):
    """What becomes of a task; what is not given stays."""

    model_config = ConfigDict(json_schema_extra={"example": {"status": "completed"}})

    status: TaskStatus | None = None
    title: Line | None = None


_DEEPEST = 50


def tree(tasks: list[TaskTold]) -> list[TaskNode]:
    """Tasks as a tree; one whose parent is not among them stands at the root.

    Below a depth that no person makes, there is nothing: JSON is not nested for ever.
    """
    known = {task.number for task in tasks}
    children: dict[int | None, list[TaskTold]] = {}
    for task in tasks:
        children.setdefault(task.parent if task.parent in known else None, []).append(task)

    def below(parent: int | None, depth: int) -> list[TaskNode]:
        return [
            TaskNode(**task.model_dump(), children=below(task.number, depth + 1))
            for task in (children.get(parent, []) if depth < _DEEPEST else [])
        ]

    return below(None, 0)
