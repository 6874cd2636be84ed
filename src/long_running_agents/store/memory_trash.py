"""The trash: forgotten memories that can still be brought back, out of every search's reach."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import Column, delete, func, insert, select, text, update

from long_running_agents.domain.memory import Memory, MemoryId, Selection
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.store import memory_index
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import among
from long_running_agents.store.tables import memories, memory_names, memory_trash

# Made when it is needed, since hardly a process needs it.
_ROW: TypeAdapter[tuple[Memory, list[MemoryId]]] = TypeAdapter(
    tuple[Memory, list[MemoryId]], config=ConfigDict(defer_build=True)
)


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

    ``gone`` are those that are being forgotten for good outside the trash.
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


@contextmanager
def overwriting(tx: Transaction) -> Generator[None]:
    """Overwrite what is deleted meanwhile."""
    before = int(tx.execute(text("PRAGMA secure_delete")).scalar_one())
    tx.execute(text("PRAGMA secure_delete = ON"))
    yield
    tx.execute(text(f"PRAGMA secure_delete = {before}"))


def wipe(tx: Transaction, gone: Sequence[Memory]) -> None:
    """Leave neither words nor names of deleted memories behind."""
    if not gone:
        return
    used = _used(tx, memories.c.owner) | _used(tx, memories.c.agent)
    used |= _used(tx, memories.c.session_id)
    used |= {actor.lower() for actor in _used(tx, memories.c.actor)}
    for memory in gone:
        for name in {memory.actor.lower(), memory.session_id, memory.agent} - used - {None}:
            # The number stays taken: who has seen it must not take the next name for this one.
            tx.execute(
                update(memory_names)
                .where(memory_names.c.name == name)
                .values(name=text("char(0) || code"))
            )
    memory_index.tidy(tx)


def _used(tx: Transaction, column: Column[str]) -> set[str]:
    return set(tx.execute(select(column).distinct().where(column.is_not(None))).scalars())
