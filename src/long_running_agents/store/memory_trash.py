"""The trash: forgotten memories that can still be brought back, out of every search's reach."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import delete, func, insert, select

from long_running_agents.domain.memory import Memory, MemoryId
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memory_trash

_ROW: TypeAdapter[tuple[Memory, list[MemoryId]]] = TypeAdapter(tuple[Memory, list[MemoryId]])


def put(
    tx: Transaction,
    batch: str,
    rows: Sequence[tuple[Memory, list[MemoryId]]],
    *,
    now: datetime,
    until: datetime,
) -> None:
    """Keep memories, each with what it was derived from."""
    tx.execute(
        insert(memory_trash),
        [
            {
                "batch": batch,
                "memory_id": memory.id,
                "owner": memory.owner,
                "body": _ROW.dump_json((memory, origins)).decode(),
                "forgotten_at": now,
                "until": until,
            }
            for memory, origins in rows
        ],
    )


def take(tx: Transaction, owner: str, batch: str) -> list[tuple[Memory, list[MemoryId]]]:
    """Take what was forgotten together out of the trash, in the order of its numbers."""
    mine = (memory_trash.c.owner == owner) & (memory_trash.c.batch == batch)
    query = select(memory_trash.c.body).where(mine).order_by(memory_trash.c.memory_id)
    rows = [_ROW.validate_json(body) for body in tx.execute(query).scalars()]
    if not rows:
        raise NotFound(
            f"There is nothing to undo under {batch!r}.",
            hint="'lra memory undo' without a name shows what can be undone.",
        )
    tx.execute(delete(memory_trash).where(mine))
    return rows


def batches(tx: Transaction, owner: str) -> list[tuple[str, int, datetime, datetime]]:
    """What can be undone: name, how many memories, when it was forgotten, until when."""
    query = (
        select(
            memory_trash.c.batch,
            func.count(),
            func.min(memory_trash.c.forgotten_at, type_=memory_trash.c.forgotten_at.type),
            func.min(memory_trash.c.until, type_=memory_trash.c.until.type),
        )
        .where(memory_trash.c.owner == owner)
        .group_by(memory_trash.c.batch)
        .order_by(func.min(memory_trash.c.forgotten_at).desc())
    )
    return [(batch, count, at, until) for batch, count, at, until in tx.execute(query)]


def purge(tx: Transaction, now: datetime) -> int:
    """Delete for good what was kept long enough."""
    return tx.execute(delete(memory_trash).where(memory_trash.c.until <= now)).rowcount
