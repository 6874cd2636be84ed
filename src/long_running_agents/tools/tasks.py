"""The tools for tasks: planning and tracking work."""

from collections.abc import Callable

from pydantic_ai import FunctionToolset, RunContext, Tool
from typing_extensions import TypedDict

from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.session import Task, news, parse_status
from long_running_agents.domain.tool import Effect
from long_running_agents.store import events, tasks
from long_running_agents.store.database import Transaction
from long_running_agents.tools.deps import TurnDeps, effect


class TaskView(TypedDict):
    """A task as the model reads it."""

    id: int
    title: str
    description: str
    status: str
    parent_id: int | None
    result: str


def task_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    return FunctionToolset(
        [
            Tool(create_task, metadata=effect(Effect.IDEMPOTENT)),
            Tool(update_task_status, metadata=effect(Effect.IDEMPOTENT)),
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
    turn, now = ctx.deps.turn, ctx.deps.clock.now()
    return await _change(
        ctx.deps,
        lambda tx: tasks.create(
            tx,
            turn.session_id,
            title,
            description=description,
            parent=parent_id,
            made_by=f"{turn.id}/{ctx.tool_call_id}",
            now=now,
        ),
    )


async def update_task_status(
    ctx: RunContext[TurnDeps], task_id: int, status: str, result: str | None = None
) -> TaskView:
    """Move a task to another status.

    Args:
        task_id: The task's number.
        status: One of pending, in_progress, completed, failed, cancelled.
        result: What came of it.
    """
    turn, now = ctx.deps.turn, ctx.deps.clock.now()
    wanted = parse_status(status)
    return await _change(
        ctx.deps,
        lambda tx: tasks.change(tx, turn.session_id, task_id, wanted, result=result, now=now),
    )


async def list_tasks(ctx: RunContext[TurnDeps], status: str | None = None) -> list[TaskView]:
    """List this session's tasks, in the order they were made.

    Args:
        status: Only this status.
    """
    wanted = None if status is None else parse_status(status)
    session_id = ctx.deps.turn.session_id
    found = await ctx.deps.database.read(lambda tx: tasks.of_session(tx, session_id, status=wanted))
    return [_view(task) for task in found]


async def get_task_state(ctx: RunContext[TurnDeps], task_id: int) -> TaskView:
    """Look at one task.

    Args:
        task_id: The task's number.
    """
    session_id = ctx.deps.turn.session_id
    return _view(await ctx.deps.database.read(lambda tx: tasks.get(tx, session_id, task_id)))


def _view(task: Task) -> TaskView:
    return TaskView(
        id=task.number,
        title=task.title,
        description=task.description,
        status=task.status,
        parent_id=task.parent,
        result=task.result,
    )


async def _change(deps: TurnDeps, work: Callable[[Transaction], Task]) -> TaskView:
    turn, now = deps.turn, deps.clock.now()

    def change_and_tell(tx: Transaction) -> tuple[Task, list[EventEnvelope]]:
        task = work(tx)
        told = news(tasks.of_session(tx, turn.session_id))
        return task, events.append(tx, turn.session_id, turn.id, [told], now)

    task, recorded = await deps.database.write(change_and_tell)
    deps.announce(recorded)
    return _view(task)
