"""A task: a piece of work in a session's tree, what proves it, and where it may reach."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from posixpath import normpath
from typing import Any

from pydantic import TypeAdapter, ValidationError

from long_running_agents.domain.events import TaskItem, TasksChanged
from long_running_agents.domain.ids import SessionId, WorkId
from long_running_agents.domain.workspace import WORKSPACE
from long_running_agents.errors import UsageError


class CriterionKind(StrEnum):
    """How it is found out whether a task is done."""

    FILE = "file"
    """A file is there, with what it has to hold."""
    COMMAND = "command"
    """A command ends with 0 in a fresh sandbox."""
    CALL = "call"
    """A tool was called with success, as the ledger has it."""
    FETCH = "fetch"
    """An address answers with a status."""
    JUDGED = "judged"
    """A model judges by the ledger; that is never called verified."""
    HUMAN = "human"
    """A person says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """What proves that a task is done: whoever checks it is not the one who did the task."""

    kind: CriterionKind
    path: str = ""
    """file: the file."""
    contains: str = ""
    """file, command, call: a text that has to occur in the file, the output or the result."""
    json_schema: Mapping[str, Any] | None = None
    """file: the JSON schema that its JSON has to fit."""
    min_bytes: int = 1
    """file: how long it is at least."""
    command: str = ""
    """command: what bash runs in the workspace."""
    matches: str = ""
    """command: a regular expression that the output has to match."""
    protects: tuple[str, ...] = ()
    """command: files and folders that must stay as they were when the plan was approved."""
    tool: str = ""
    """call: the tool."""
    args: Mapping[str, Any] | None = None
    """call: arguments that it has to have been given, among others."""
    url: str = ""
    """fetch: the address."""
    status: int = 200
    """fetch: the status that it answers with."""
    text: str = ""
    """judged, human: what has to be true."""

    def __str__(self) -> str:
        """What it demands, in short."""
        wanted = f' with "{self.contains}"' if self.contains else ""
        match self.kind:
            case CriterionKind.FILE:
                wanted += " that fits a schema" if self.json_schema else ""
                return f"file {self.path}{wanted}"
            case CriterionKind.COMMAND:
                wanted += f" matching /{self.matches}/" if self.matches else ""
                return f"command `{self.command}` ends with 0{wanted}"
            case CriterionKind.CALL:
                return f"call of {self.tool}{f' {dict(self.args)}' if self.args else ''}{wanted}"
            case CriterionKind.FETCH:
                return f"{self.url} answers {self.status}"
            case CriterionKind.JUDGED | CriterionKind.HUMAN:
                return f"{self.kind}: {self.text}" if self.text else str(self.kind)


_NEEDED = {
    CriterionKind.FILE: "path",
    CriterionKind.COMMAND: "command",
    CriterionKind.CALL: "tool",
    CriterionKind.FETCH: "url",
    CriterionKind.JUDGED: "text",
}
_RUNNING = ("shell", "execute_code", "pyexe")


@cache
def criterion_json() -> TypeAdapter[Criterion]:
    """Reads and writes criteria."""
    return TypeAdapter(Criterion)


@cache
def scope_json() -> TypeAdapter["Scope"]:
    """Reads and writes scopes."""
    return TypeAdapter(Scope)


def parse_criterion(given: Mapping[str, Any] | None) -> Criterion | None:
    """Read a criterion as a model or a program writes it; None for none.

    Raises:
        UsageError: It is none of the kinds, or lacks what its kind needs.
    """
    if not given:
        return None
    kinds = ", ".join(CriterionKind)
    known = [each.name for each in fields(Criterion)]
    if unknown := [name for name in given if name not in known]:
        hint = f"it may have {', '.join(known)}."
        raise UsageError(f"A criterion has no {unknown[0]!r}:", hint=hint)
    try:
        criterion = criterion_json().validate_python(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"The criterion is not understood: {where}: {first['msg']}.",
            hint=f"kind is one of {kinds}.",
        ) from None
    needed = _NEEDED.get(criterion.kind)
    if needed is not None and not getattr(criterion, needed):
        raise UsageError(f"A criterion of kind {criterion.kind} needs {needed!r}.")
    if criterion.tool in _RUNNING and not criterion.args:
        raise UsageError(
            f"What {criterion.tool} prints is up to whoever calls it.",
            hint="Use kind command, or say in args what has to be run.",
        )
    return criterion


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where a task may write and whom it may reach; empty means that nothing is said."""

    paths: tuple[str, ...] = ()
    """Files and folders of the workspace; patterns may have * and ?."""
    hosts: tuple[str, ...] = ()

    def covers_path(self, path: str) -> bool:
        """Whether a path is in it; where no path is said, all are."""
        return not self.paths or any(within(path, each) for each in self.paths)

    def covers_host(self, host: str) -> bool:
        """Whether a host is in it; where no host is said, all are."""
        return not self.hosts or any(
            fnmatchcase(host, each) or host.endswith(f".{each}") for each in self.hosts
        )

    def covers(self, other: "Scope") -> bool:
        """Whether another scope is in it; one that says nothing is everything."""
        return (
            not self.paths or (bool(other.paths) and all(map(self.covers_path, other.paths)))
        ) and (not self.hosts or all(map(self.covers_host, other.hosts)))

    def __or__(self, other: "Scope") -> "Scope":
        """Both together; what one of them leaves open is open."""
        paths = (*self.paths, *other.paths) if self.paths and other.paths else ()
        hosts = (*self.hosts, *other.hosts) if self.hosts and other.hosts else ()
        return Scope(paths=tuple(dict.fromkeys(paths)), hosts=tuple(dict.fromkeys(hosts)))


def plain_path(path: str) -> str:
    """A path of the workspace in the one form in which it is compared."""
    return normpath(f"{normpath(path)}/".removeprefix(f"{WORKSPACE}/"))


def within(path: str, pattern: str) -> bool:
    """Whether a path is one, or below one, that a pattern names."""
    wanted, given = plain_path(pattern).replace("[", "[[]"), plain_path(path)
    outside = "../", "/"
    if f"{given}/".startswith(outside) and not wanted.startswith(outside):
        return False
    return wanted == "." or fnmatchcase(given, wanted) or fnmatchcase(given, f"{wanted}/*")


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
    depends_on: tuple[int, ...] = ()
    """Tasks that have to be done before."""
    criterion: Criterion | None = None
    """What proves it."""
    scope: Scope = field(default_factory=Scope)
    estimate: int | None = None
    """How many steps it may take, about."""
    notes: tuple[str, ...] = ()
    """What was observed on the way."""
    work_id: WorkId | None = None
    """The work that it is a part of."""
    planned: bool = False
    """Whether it stands in an approved plan: then only the plan changes it."""


def leaves(tasks: Sequence[Task]) -> list[Task]:
    """The tasks that have to be proven: they have a criterion, or nothing below them has one."""
    alive = [task for task in tasks if task.status is not TaskStatus.CANCELLED]
    above = {task.parent for task in alive}
    own = {task.number for task in alive}
    approved = any(task.planned for task in alive)
    return [
        task
        for task in alive
        # A step below a planned task is proven by what is above it, unless it says otherwise.
        if task.criterion is not None
        or (task.number not in above and (task.planned or not approved or task.parent not in own))
    ]


def check_dependencies(tasks: Sequence[Task], number: int, wanted: Iterable[int]) -> None:
    """See that a task can wait for others: they are there, and do not wait for it.

    Raises:
        UsageError: One is not there, or there is a cycle.
    """
    known = {task.number: task.depends_on for task in tasks}
    pending, seen = list(wanted), set[int]()
    if missing := [each for each in pending if each not in known]:
        raise UsageError(f"No task #{missing[0]} to depend on.", hint="list_tasks shows them.")
    while pending:
        each = pending.pop()
        if each == number:
            raise UsageError(f"Task #{number} would wait for itself.", hint="Remove a dependency.")
        if each not in seen:
            seen.add(each)
            pending += known.get(each, ())


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
