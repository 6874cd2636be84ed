"""Tasks: a session's tree of work."""

from datetime import datetime

from sqlalchemy import insert, select, update

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.session import Task, TaskStatus
from long_running_agents.errors import NotFound
from long_running_agents.store import sql
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import row_reader
from long_running_agents.store.tables import sessions, tasks

_task = row_reader(Task)


def create(
    tx: Transaction,
    session_id: SessionId,
    title: str,
    *,
    description: str,
    parent: int | None,
    made_by: str,
    now: datetime,
) -> Task:
    """Add a task; the same call never adds it twice."""
    query = select(tasks).where(tasks.c.session_id == session_id, tasks.c.made_by == made_by)
    if (row := tx.execute(query).first()) is not None:
        return _task(row)
    if parent is not None:
        get(tx, session_id, parent)
    number = sql.take(tx, session_id, "last_task")
    tx.execute(
        insert(tasks),
        {
            "session_id": session_id,
            "number": number,
            "title": tx.redact(title),
            "description": tx.redact(description),
            "status": TaskStatus.PENDING,
            "parent": parent,
            "made_by": made_by,
            "created_at": now,
            "updated_at": now,
        },
    )
    return get(tx, session_id, number)


def get(tx: Transaction, session_id: SessionId, number: int) -> Task:
    """Look up a task that must exist."""
    query = select(tasks).where(tasks.c.session_id == session_id, tasks.c.number == number)
    row = tx.execute(query).first()
    if row is None:
        raise NotFound(f"No task #{number} in this session.", hint="list_tasks shows them.")
    return _task(row)


def change(
    tx: Transaction,
    session_id: SessionId,
    number: int,
    status: TaskStatus | None,
    *,
    result: str | None = None,
    title: str | None = None,
    now: datetime,
) -> Task:
    """Move a task to another status, say what came of it, or call it otherwise."""
    get(tx, session_id, number)
    values: dict[str, object] = {"updated_at": now}
    if status is not None:
        values["status"] = status
    if result is not None:
        values["result"] = tx.redact(result)
    if title is not None:
        values["title"] = tx.redact(title)
    tx.execute(
        update(tasks)
        .where(tasks.c.session_id == session_id, tasks.c.number == number)
        .values(**values)
    )
    return get(tx, session_id, number)


def of_session(
    tx: Transaction, session_id: SessionId, *, status: TaskStatus | None = None
) -> list[Task]:
    """A session's tasks, in the order they were made."""
    query = select(tasks).where(tasks.c.session_id == session_id).order_by(tasks.c.number)
    if status is not None:
        query = query.where(tasks.c.status == status)
    return [_task(row) for row in tx.execute(query)]


def of_owner(
    tx: Transaction, owner: str, *, status: TaskStatus | None, limit: int, offset: int
) -> list[Task]:
    """The tasks of all an owner's sessions, those changed last first."""
    query = (
        select(tasks)
        .join(sessions, sessions.c.id == tasks.c.session_id)
        .where(sessions.c.owner == owner)
        .order_by(tasks.c.updated_at.desc(), tasks.c.session_id, tasks.c.number)
        .limit(limit)
        .offset(offset)
    )
    if status is not None:
        query = query.where(tasks.c.status == status)
    return [_task(row) for row in tx.execute(query)]
