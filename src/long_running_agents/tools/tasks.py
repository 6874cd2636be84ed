"""The tools for tasks: planning and tracking work, and what a work allows of that."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Required

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext, Tool
from typing_extensions import TypedDict

from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.task import (
    Scope,
    Task,
    TaskStatus,
    check_dependencies,
    news,
    parse_criterion,
    parse_status,
)
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.work import (
    EvidenceState,
    Plan,
    PlanState,
    WorkPhase,
    WorkView,
    filled,
)
from long_running_agents.errors import Busy, UsageError
from long_running_agents.store import events, ledger, tasks, works
from long_running_agents.store.database import Transaction
from long_running_agents.tools import evidence
from long_running_agents.tools.deps import TurnDeps, effect


class TaskView(TypedDict, total=False):
    """A task as the model reads it."""

    id: int
    title: str
    description: str
    status: str
    parent_id: int | None
    result: str
    depends_on: list[int]
    done_when: str
    """What proves it."""
    evidence: str
    """What was found when it was looked at."""
    notes: list[str]


def task_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    return FunctionToolset(
        [
            Tool(create_task, metadata=effect(Effect.IDEMPOTENT, alias="manage_tasks")),
            Tool(update_task_status, metadata=effect(Effect.IDEMPOTENT, alias="manage_tasks")),
            Tool(list_tasks, metadata=effect(Effect.READ)),
            Tool(get_task_state, metadata=effect(Effect.READ)),
        ],
        id="tasks",
    )


async def create_task(
    ctx: RunContext[TurnDeps],
    title: str,
    description: str = "",
    parent_id: int | None = None,
) -> TaskView:
    """Add a task to this session's task tree.

    Args:
        title: What to do.
        description: What done looks like.
        parent_id: The task above it.
    """
    return await _create(ctx, title, {"description": description, "parent": parent_id})


async def update_task_status(
    ctx: RunContext[TurnDeps], task_id: int, status: str, result: str | None = None
) -> TaskView:
    """Move a task to another status.

    Args:
        task_id: The task's number.
        status: One of pending, in_progress, completed, failed, cancelled.
        result: What came of it.
    """
    return await _update(ctx, task_id, parse_status(status), {"result": result})


async def list_tasks(ctx: RunContext[TurnDeps], status: str | None = None) -> list[TaskView]:
    """List this session's tasks, in the order they were made.

    Args:
        status: Only this status.
    """
    wanted = None if status is None else parse_status(status)
    session_id = ctx.deps.turn.session_id
    found, view = await ctx.deps.database.read(
        lambda tx: (tasks.of_session(tx, session_id, status=wanted), _work_of(tx, ctx.deps))
    )
    return [_view(task, view) for task in found]


async def get_task_state(ctx: RunContext[TurnDeps], task_id: int) -> TaskView:
    """Look at one task.

    Args:
        task_id: The task's number.
    """
    return _view(*await _found(ctx.deps, task_id))


def work_tools() -> FunctionToolset[TurnDeps]:
    """The toolset of deep work."""
    return FunctionToolset(
        [
            Tool(manage_tasks, metadata=effect(Effect.IDEMPOTENT)),
            Tool(propose_change, metadata=effect(Effect.IDEMPOTENT)),
        ],
        id="work",
    )


TaskAction = Literal["create", "update", "complete", "delete", "note"]


async def manage_tasks(  # noqa: PLR0913, PLR0917 - a model fills in a flat form best
    ctx: RunContext[TurnDeps],
    action: TaskAction,
    task_id: int | None = None,
    title: str | None = None,
    description: str | None = None,
    parent_id: int | None = None,
    depends_on: list[int] | None = None,
    criterion: dict[str, Any] | None = None,
    paths: list[str] | None = None,
    hosts: list[str] | None = None,
    estimate: int | None = Field(default=None, ge=1, le=1000),
    result: str | None = None,
    note: str | None = None,
) -> TaskView:
    """Plan and track the tasks of a work; a completed task is checked by its criterion.

    Args:
        action: What to do.
        task_id: The task, for all but create.
        title: What to do.
        description: More about it; {{task_3.output}} stands for what came of task 3.
        parent_id: The task above it.
        depends_on: Tasks that have to be done before.
        criterion: What proves it: {"kind": "file", "path"} or {"kind": "command", "command"}.
            Both may have contains. Other kinds: call with tool and args, fetch with url, judged
            and human with text.
        paths: Files and folders that it may write.
        hosts: Hosts that it may reach.
        estimate: How many steps it may take.
        result: What came of it.
        note: An observation to keep.
    """
    scope = Scope(paths=tuple(paths or ()), hosts=tuple(hosts or ()))
    given: dict[str, Any] = {
        "description": description,
        "depends_on": None if depends_on is None else tuple(depends_on),
        "criterion": parse_criterion(criterion),
        "scope": None if paths is None and hosts is None else scope,
        "estimate": estimate,
    }
    if action == "create":
        if not title:
            raise UsageError("A new task needs a title.")
        return await _create(ctx, title, {**given, "parent": parent_id})
    if task_id is None:
        raise UsageError(f"{action} needs a task_id.", hint="list_tasks shows the tasks.")
    match action:
        case "complete":
            return await _update(ctx, task_id, TaskStatus.COMPLETED, {"result": result})
        case "delete":
            return await _update(ctx, task_id, TaskStatus.CANCELLED, {})
        case "note":
            return await _note(ctx, task_id, note or result or "")
        case "update":
            return await _update(ctx, task_id, None, {**given, "title": title, "result": result})


class PlanChange(TypedDict, total=False):
    """One item of a patch."""

    op: Required[Literal["add", "change", "remove"]]
    task: int
    title: str
    description: str
    parent: int
    depends_on: list[int]
    criterion: dict[str, Any]
    paths: list[str]
    hosts: list[str]
    estimate: int


async def propose_change(ctx: RunContext[TurnDeps], reason: str, patch: list[PlanChange]) -> str:
    """Propose a change of the approved plan; a person decides about it after this turn.

    Args:
        reason: Why the plan has to change.
        patch: Such as {"op": "add", "title": …, "criterion": …}, {"op": "change", "task": 3, …} or
            {"op": "remove", "task": 3}.
    """
    now = ctx.deps.clock.now()

    def work(tx: Transaction) -> str:
        view = _work_of(tx, ctx.deps)
        if view is None or not view.work.plan_version:
            raise Busy("There is no approved plan to change.", hint="Use manage_tasks.")
        changes = tuple(checked_patch(patch, view.tasks))
        known = [each for each in works.plans_of(tx, view.work.id) if each.tasks == changes]
        if any(each.state is PlanState.DECLINED for each in known):
            raise Busy("This change was declined before.", hint="Go on with the plan as it is.")
        if view.proposal is not None:
            if known:
                return "Proposed already: a person decides."
            raise Busy("Another change waits for an answer.", hint="End your turn.")
        works.add_plan(
            tx,
            Plan(
                work_id=view.work.id,
                version=view.work.plan_version + 1,
                state=PlanState.PROPOSED,
                tasks=tuple(dict(each) for each in changes),
                reason=reason,
                at=now,
            ),
        )
        return "Proposed: a person decides. End your turn, or go on with what stays as it is."

    return await ctx.deps.database.write(work)


def checked_patch(patch: Sequence[PlanChange], planned: Sequence[Task]) -> list[PlanChange]:
    """A change of a plan that makes sense: a person is asked about nothing else.

    Raises:
        UsageError: An item of it does not.
    """
    known = {task.number: task for task in planned}
    for item in patch:
        added, number = item["op"] == "add", item.get("task", 0)
        if added != (number == 0):
            raise UsageError("Each item of a patch is add, or change or remove with its task.")
        if parse_criterion(item.get("criterion")) is None and added:
            raise UsageError("A task that is added needs a criterion.")
        if missing := {number, item.get("parent", 0)} - {0, *known}:
            raise UsageError(f"No task #{missing.pop()} in this work.")
        depends_on = tuple(item.get("depends_on", ()))
        check_dependencies(list(known.values()), number, depends_on)
        if not added and depends_on:
            known[number] = replace(known[number], depends_on=depends_on)
    if not patch or any(item["op"] == "add" and not item.get("title") for item in patch):
        raise UsageError("The patch is empty, or a task that is added has no title.")
    return list(patch)


def _work_of(tx: Transaction, deps: TurnDeps) -> WorkView | None:
    """The work that a turn is a part of, if it is of one that has not ended."""
    if deps.turn.work_id is None:
        return None
    work = works.get(tx, deps.turn.work_id)
    return works.view(tx, work, changes=False) if work.open else None


async def _found(deps: TurnDeps, number: int) -> tuple[Task, WorkView | None]:
    """A task of the session, and the work that the turn is a part of."""
    return await deps.database.read(
        lambda tx: (tasks.get(tx, deps.turn.session_id, number), _work_of(tx, deps))
    )


async def _create(ctx: RunContext[TurnDeps], title: str, given: dict[str, Any]) -> TaskView:
    deps, turn, now = ctx.deps, ctx.deps.turn, ctx.deps.clock.now()

    def make(tx: Transaction) -> Task:
        view = _work_of(tx, deps)
        wanted = {name: value for name, value in given.items() if value is not None}
        if view is not None:
            _check_new(view, wanted)
            wanted["work_id"] = view.work.id
        every = tasks.of_session(tx, turn.session_id)
        check_dependencies(every, 0, wanted.get("depends_on", ()))
        return tasks.create(
            tx,
            turn.session_id,
            title,
            made_by=f"{turn.id}/{ctx.tool_call_id}",
            now=now,
            description=wanted.pop("description", ""),
            parent=wanted.pop("parent", None),
            **wanted,
        )

    return await _change(deps, make)


def _check_new(view: WorkView, wanted: dict[str, Any]) -> None:
    """See that a work may get a task: once its plan is approved, only steps below it."""
    above = next((task for task in view.tasks if task.number == wanted.get("parent")), None)
    if view.work.phase is WorkPhase.REVIEWING:
        if "criterion" not in wanted:
            raise UsageError("What a review finds needs a criterion that proves it mended.")
        # Whoever has to mend it does not choose what proves that.
        wanted["planned"] = True
    if view.work.phase is not WorkPhase.EXECUTING:
        return
    if above is None:
        raise Busy(
            "The plan is approved.",
            hint="Add a step below one of its tasks (parent_id), or use propose_change.",
        )
    if (scope := wanted.get("scope")) is None:
        wanted["scope"] = above.scope
    elif not above.scope.covers(scope):
        raise Busy(f"This goes beyond the scope of #{above.number}.", hint="Use propose_change.")


async def _update(
    ctx: RunContext[TurnDeps], number: int, status: TaskStatus | None, given: dict[str, Any]
) -> TaskView:
    deps, turn, now = ctx.deps, ctx.deps.turn, ctx.deps.clock.now()
    task, view = await _found(deps, number)
    if view is not None:
        _check_change(view, task, status, given)
        if status is TaskStatus.COMPLETED and task.criterion is not None:
            return await _complete(ctx, view, task, given.get("result"))

    def work(tx: Transaction) -> Task:
        if (wanted := given.get("depends_on")) is not None:
            check_dependencies(tasks.of_session(tx, turn.session_id), number, wanted)
        return tasks.change(tx, turn.session_id, number, status, now=now, **given)

    return await _change(deps, work)


_FROZEN = ("title", "description", "depends_on", "criterion", "scope", "estimate")


def _check_change(
    view: WorkView, task: Task, status: TaskStatus | None, given: dict[str, Any]
) -> None:
    """See that a work lets a task be changed like this: an approved plan stays as it is."""
    changes = any(given.get(name) is not None for name in _FROZEN)
    if task.planned and (changes or status is TaskStatus.CANCELLED):
        raise Busy(f"#{task.number} is in the approved plan.", hint="Use propose_change.")
    if status is TaskStatus.FAILED and not given.get("result"):
        raise UsageError("Say in result why the task is given up.")
    if status is not TaskStatus.COMPLETED:
        return
    if view.work.phase in (WorkPhase.PLANNING, WorkPhase.PLAN_READY):
        raise Busy("The plan is not approved yet.", hint="Finish it and end your turn.")
    if needed := view.waits_for(task):
        raise Busy(f"#{task.number} waits for #{needed[0]}, which is not proven yet.")


async def _complete(
    ctx: RunContext[TurnDeps], view: WorkView, task: Task, result: str | None
) -> TaskView:
    """Look whether a task is done that is said to be."""
    deps, turn, now = ctx.deps, ctx.deps.turn, ctx.deps.clock.now()
    call_id = ctx.tool_call_id or ""

    def claim(tx: Transaction) -> int:
        started = TaskStatus.IN_PROGRESS
        tasks.change(tx, turn.session_id, task.number, started, result=result, now=now)
        return ledger.step_of(tx, turn.id, call_id)

    step = await deps.database.write(claim)
    cause = f"{turn.id}/{call_id}"
    found = await evidence.check(deps, view, task, cause, step)
    shown = _view(*await _found(deps, task.number))
    if found.state is EvidenceState.REFUTED:
        shown["evidence"] = f"REFUTED, the task is not done: {found.proof}"
    return shown


async def _note(ctx: RunContext[TurnDeps], number: int, text: str) -> TaskView:
    turn, now = ctx.deps.turn, ctx.deps.clock.now()
    if not text.strip():
        raise UsageError("The note is empty.")

    def work(tx: Transaction) -> Task:
        known = tasks.get(tx, turn.session_id, number)
        notes = known.notes if text in known.notes else (*known.notes, text)
        return tasks.change(tx, turn.session_id, number, notes=notes[-50:], now=now)

    return await _change(ctx.deps, work)


def _view(task: Task, view: WorkView | None = None) -> TaskView:
    shown = TaskView(
        id=task.number,
        title=task.title,
        description=task.description if view is None else filled(task.description, view),
        status=task.status,
        parent_id=task.parent,
        result=task.result,
    )
    if task.depends_on:
        shown["depends_on"] = list(task.depends_on)
    if task.criterion is not None:
        shown["done_when"] = str(task.criterion)
    if view is not None and (found := view.newest.get(task.number)) is not None:
        shown["evidence"] = f"{found.state}: {found.proof}"
    if task.notes:
        shown["notes"] = list(task.notes)
    return shown


async def _change(deps: TurnDeps, work: Callable[[Transaction], Task]) -> TaskView:
    turn, now = deps.turn, deps.clock.now()

    def change_and_tell(tx: Transaction) -> tuple[Task, list[EventEnvelope]]:
        task = work(tx)
        told = news(tasks.of_session(tx, turn.session_id))
        return task, events.append(tx, turn.session_id, turn.id, [told], now)

    task, recorded = await deps.database.write(change_and_tell)
    deps.announce(recorded)
    return _view(task)
