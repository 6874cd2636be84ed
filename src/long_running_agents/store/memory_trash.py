"""The trash: forgotten memories that can still be brought back, out of every search's reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import delete, func, insert, select

from long_running_agents.domain.memory import Memory, MemoryId, Selection
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.store.among import among
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memory_trash

_ROW: TypeAdapter[tuple[Memory, list[MemoryId]]] = TypeAdapter(tuple[Memory, list[MemoryId]])


@dataclass(frozen=True, slots=True)
class Thrown:
    """A memory in the trash."""

    memory: Memory
    origins: list[MemoryId]
    """What it was derived from."""
    batch: str = ""
    """What it was forgotten together with."""


def put(
    tx: Transaction, batch: str, rows: Sequence[Thrown], *, now: datetime, until: datetime
) -> None:
    """Keep memories, each with what it was derived from."""
    tx.execute(
        insert(memory_trash),
        [
            {
                "batch": batch,
                "memory_id": row.memory.id,
                "owner": row.memory.owner,
                "body": _ROW.dump_json((row.memory, row.origins)).decode(),
                "forgotten_at": now,
                "until": until,
            }
            for row in rows
        ],
    )


def _everything(tx: Transaction, owner: str, now: datetime) -> list[Thrown]:
    query = (
        select(memory_trash.c.batch, memory_trash.c.body)
        .where(memory_trash.c.owner == owner, memory_trash.c.until > now)
        .order_by(memory_trash.c.memory_id)
    )
    return [Thrown(*_ROW.validate_json(body), batch) for batch, body in tx.execute(query)]


def take(tx: Transaction, owner: str, batch: str, now: datetime) -> list[Thrown]:
    """Take what was forgotten together out of the trash, in the order of its numbers.

    Raises:
        NotFound: There is no such thing, or it is too late.
        UsageError: It was derived from something that lies in the trash itself.
    """
    everything = _everything(tx, owner, now)
    rows = [row for row in everything if row.batch == batch]
    if not rows:
        raise NotFound(
            f"There is nothing to undo under {batch!r}.",
            hint="What is forgotten is kept for 30 days, and not at all if it was to go at once; "
            "'lra memory undo' without a name shows what can be undone.",
        )
    elsewhere = {row.memory.id: row.batch for row in everything if row.batch != batch}
    for row in rows:
        for origin in row.origins:
            if origin in elsewhere:
                raise UsageError(
                    f"#{row.memory.id} was derived from #{origin}, which is forgotten too.",
                    hint=f"Undo {elsewhere[origin]!r} first.",
                )
    tx.execute(
        delete(memory_trash).where(memory_trash.c.owner == owner, memory_trash.c.batch == batch)
    )
    return rows


def shred(
    tx: Transaction, owner: str, selection: Selection, gone: Sequence[MemoryId], now: datetime
) -> list[Memory]:
    """Delete for good what a selection means in the trash, and what was derived from all that.

    Args:
        tx: The transaction.
        owner: Whose trash it is.
        selection: Which memories are meant.
        gone: The memories that are being forgotten for good outside the trash.
        now: The present moment.
    """
    everything = _everything(tx, owner, now)
    found = {row.memory.id: row.memory for row in everything if selection.means(row.memory)}
    roots = {*gone, *found}
    while more := {
        row.memory.id: row.memory
        for row in everything
        if row.memory.id not in found and roots.intersection(row.origins)
    }:
        found |= more
        roots |= set(more)
    tx.execute(
        delete(memory_trash).where(
            memory_trash.c.owner == owner, among(memory_trash.c.memory_id, found)
        )
    )
    return [found[number] for number in sorted(found)]


def batches(
    tx: Transaction, owner: str, now: datetime
) -> list[tuple[str, int, datetime, datetime]]:
    """What can be undone: name, how many memories, when it was forgotten, until when."""
    query = (
        select(
            memory_trash.c.batch,
            func.count(),
            func.min(memory_trash.c.forgotten_at, type_=memory_trash.c.forgotten_at.type),
            func.min(memory_trash.c.until, type_=memory_trash.c.until.type),
        )
        .where(memory_trash.c.owner == owner, memory_trash.c.until > now)
        .group_by(memory_trash.c.batch)
        .order_by(func.min(memory_trash.c.forgotten_at).desc())
    )
    return [(batch, count, at, until) for batch, count, at, until in tx.execute(query)]


def purge(tx: Transaction, now: datetime) -> int:
    """Delete for good what was kept long enough."""
    return tx.execute(delete(memory_trash).where(memory_trash.c.until <= now)).rowcount
