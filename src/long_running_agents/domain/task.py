"""Tasks: a session's tree of work."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.events import TaskItem, TasksChanged
from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import UsageError


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
    marks = {
        TaskStatus.PENDING: "[ ]",
        TaskStatus.IN_PROGRESS: "[>]",
        TaskStatus.COMPLETED: "[x]",
        TaskStatus.FAILED: "[!]",
        TaskStatus.CANCELLED: "[-]",
    }

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
