"""A session: one continuing conversation, and its tree of tasks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.events import TaskItem, TasksChanged
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.errors import UsageError

MINE = "me"
"""The owner of everything in a home that serves one person."""


UNTITLED = "New session"
"""The title of a session in which nothing was said yet."""


class Mode(StrEnum):
    """How far a session may go on its own."""

    BOUNDED = "bounded"
    DEEP_WORK = "deep_work"


class SessionOrigin(StrEnum):
    """Through what a session came to be."""

    OWN = "own"
    """Our own window, terminal or interface."""
    OPENAI = "openai"
    """Another program, over OpenAI's protocols."""
    MCP = "mcp"
    """Another program, over the Model Context Protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One continuing conversation with its mode and history."""

    id: SessionId
    title: str = UNTITLED
    mode: Mode = Mode.BOUNDED
    model: str | None = None
    """The model chosen for this session, or None for the configured one."""
    created_at: datetime
    updated_at: datetime
    forked_from: SessionId | None = None
    forked_at: TurnId | None = None
    owner: str = MINE
    origin: SessionOrigin = SessionOrigin.OWN
    """Through what it came to be: ours, or another program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPreview:
    """A session as a list shows it."""

    session: Session
    turns: int
    last_words: str
    """The beginning of what was said last."""


_TITLE_LENGTH = 60


def title_from(prompt: str) -> str:
    """Name a session after the first line of its first message that no program wrote around it."""
    lines = [stripped for line in prompt.splitlines() if (stripped := line.strip())] or [UNTITLED]
    line = next((line for line in lines if not line.startswith("<")), lines[0])
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"


class TaskStatus(StrEnum):
    """Where a task stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def open(self) -> bool:
        """Whether there is still something to do."""
        return self in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of work in a session's task tree."""

    session_id: SessionId
    number: int
    """The task's name within its session: #1, #2 …"""
    title: str
    description: str
    status: TaskStatus
    parent: int | None
    result: str
    """What came of it."""
    created_at: datetime
    updated_at: datetime


def parse_status(text: str) -> TaskStatus:
    """Read a status as a model or a person writes it."""
    normal = text.strip().lower().replace("-", "_").replace(" ", "_")
    synonyms = {"done": "completed", "todo": "pending", "doing": "in_progress", "open": "pending"}
    try:
        return TaskStatus(synonyms.get(normal, normal))
    except ValueError:
        expected = ", ".join(TaskStatus)
        raise UsageError(
            f"Task status {text!r} not understood:", hint=f"use one of {expected}."
        ) from None


def outline(tasks: Sequence[Task]) -> str:
    """Draw the tree, one line a task, children under their parents."""
    children: dict[int | None, list[Task]] = {}
    for task in tasks:
        children.setdefault(task.parent, []).append(task)
    marks = dict(zip(TaskStatus, ("[ ]", "[>]", "[x]", "[!]", "[-]"), strict=True))

    def lines(parent: int | None, depth: int) -> Iterable[str]:
        for task in children.get(parent, []):
            yield f"{'  ' * depth}{marks[task.status]} #{task.number} {task.title}"
            yield from lines(task.number, depth + 1)

    return "\n".join(lines(None, 0))


def summary(tasks: Sequence[Task]) -> str:
    """Count the tasks in words, such as ``2 of 5 tasks completed, 1 in progress``."""
    if not tasks:
        return "no tasks"
    done = sum(task.status is TaskStatus.COMPLETED for task in tasks)
    doing = sum(task.status is TaskStatus.IN_PROGRESS for task in tasks)
    return f"{done} of {len(tasks)} tasks completed" + (f", {doing} in progress" if doing else "")


def news(tasks: Sequence[Task]) -> TasksChanged:
    """The tree as listeners hear of it."""
    return TasksChanged(
        tasks=[
            TaskItem(number=task.number, title=task.title, status=task.status, parent=task.parent)
            for task in tasks
        ],
        summary=summary(tasks),
    )
