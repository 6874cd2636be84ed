"""Tasks: a session's tree of work."""

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import insert, select, update

from long_running_agents.domain.ids import SessionId, WorkId
from long_running_agents.domain.task import (
    Criterion,
    Scope,
    Task,
    TaskStatus,
    criterion_json,
    scope_json,
)
from long_running_agents.errors import NotFound
from long_running_agents.store import sql
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import row_reader
from long_running_agents.store.tables import sessions, tasks


def scope_of(text: str) -> Scope:
    """A scope as it is kept."""
    return Scope() if text == "{}" else scope_json().validate_json(text)


def kept_scope(scope: Scope) -> str:
    """A scope, to be kept."""
    return "{}" if scope == Scope() else scope_json().dump_json(scope).decode()


_task = row_reader(
    Task,
    depends_on=lambda row: tuple(json.loads(row.depends_on)),
    notes=lambda row: tuple(json.loads(row.notes)),
    scope=lambda row: scope_of(row.scope),
    criterion=lambda row: (
        None if row.criterion is None else criterion_json().validate_json(row.criterion)
    ),
)


def create(
    tx: Transaction,
    session_id: SessionId,
    title: str,
    *,
    description: str,
    parent: int | None,
    made_by: str,
    now: datetime,
    **more: object,
) -> Task:
    """Add a task, with further fields if they are given; the same call never adds it twice."""
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
            **_kept(tx, more),
        },
    )
    return get(tx, session_id, number)


def _kept(tx: Transaction, given: Mapping[str, object]) -> dict[str, object]:
    """Fields of a task as the table keeps them."""
    kept = dict(given)
    for name in ("title", "description", "result"):
        if isinstance(text := given.get(name), str):
            kept[name] = tx.redact(text)
    for name in ("depends_on", "notes"):
        if isinstance(values := given.get(name), tuple):
            kept[name] = tx.redact.json(json.dumps(values))
    if isinstance(scope := given.get("scope"), Scope):
        kept["scope"] = kept_scope(scope)
    if isinstance(criterion := given.get("criterion"), Criterion):
        kept["criterion"] = tx.redact.json(criterion_json().dump_json(criterion).decode())
    return kept


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
    status: TaskStatus | None = None,
    *,
    now: datetime,
    **given: object,
) -> Task:
    """Move a task to another status, or give fields of it other values; None leaves them."""
    get(tx, session_id, number)
    values = {name: value for name, value in given.items() if value is not None}
    if status is not None:
        values["status"] = status
    tx.execute(
        update(tasks)
        .where(tasks.c.session_id == session_id, tasks.c.number == number)
        .values(**_kept(tx, values), updated_at=now)
    )
    return get(tx, session_id, number)


def of_session(
    tx: Transaction,
    session_id: SessionId,
    *,
    status: TaskStatus | None = None,
    work_id: WorkId | None = None,
) -> list[Task]:
    """A session's tasks, or those of one of its works, in the order they were made."""
    query = select(tasks).where(tasks.c.session_id == session_id).order_by(tasks.c.number)
    if work_id is not None:
        query = query.where(tasks.c.work_id == work_id)
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
