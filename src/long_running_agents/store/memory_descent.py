"""Descent: what a memory was derived from, what from it, and whose place it took."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import select

from long_running_agents.domain.memory import Memory, MemoryId, Selection
from long_running_agents.store import memories
from long_running_agents.store.among import among, plain
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_entries import Indexing
from long_running_agents.store.memory_rows import memory_of
from long_running_agents.store.memory_tables import memories as memory_table
from long_running_agents.store.memory_tables import memory_links


def derived(tx: Transaction, owner: str, ids: Sequence[MemoryId]) -> list[Memory]:
    """What was derived from some memories, and from those again; not the memories themselves."""
    found: set[int] = set(ids)
    edge = list(ids)
    while edge:
        edge = [number for number in heirs(tx, edge) if number not in found]
        found.update(edge)
    rest = frozenset(MemoryId(number) for number in found.difference(ids))
    return memories.selected(tx, owner, Selection(ids=rest)) if rest else []


def heirs(tx: Transaction, ids: Sequence[MemoryId]) -> list[MemoryId]:
    """What was derived from some memories at first hand."""
    query = select(memory_links.c.memory_id).where(among(memory_links.c.derived_from, ids))
    return [MemoryId(number) for number in tx.execute(query.distinct()).scalars()]


def origins(tx: Transaction, ids: Sequence[MemoryId]) -> dict[MemoryId, list[MemoryId]]:
    """What each of some memories was derived from."""
    query = select(memory_links).where(among(memory_links.c.memory_id, ids))
    found: dict[MemoryId, list[MemoryId]] = {}
    for row in tx.execute(query.order_by(memory_links.c.derived_from)):
        found.setdefault(MemoryId(row.memory_id), []).append(MemoryId(row.derived_from))
    return found


def superseded(tx: Transaction, owner: str, ids: Sequence[MemoryId]) -> list[Memory]:
    """The memories whose place some have taken, and whose place those took; the latest first."""
    found: dict[MemoryId, Memory] = {}
    edge = list(ids)
    while edge:
        query = select(memory_table).where(
            plain(memory_table.c.owner) == owner,
            among(memory_table.c.superseded_by, edge),
            memory_table.c.valid_to.is_not(None),
        )
        older = [memory_of(row) for row in tx.execute(query)]
        edge = [memory.id for memory in older if memory.id not in found]
        found |= {memory.id: memory for memory in older}
    return sorted(found.values(), key=lambda memory: memory.id, reverse=True)


def revive(tx: Transaction, gone: Sequence[Memory], indexing: Indexing) -> list[MemoryId]:
    """Let what memories that are gone had superseded be true again.

    Where a newer one stands at the end of the row, nothing changes: that one is still true.
    """
    known = {memory.id: memory for memory in gone}
    after = {memory.superseded_by for memory in gone if memory.superseded_by is not None}
    standing = set(
        tx.execute(select(memory_table.c.id).where(among(memory_table.c.id, after))).scalars()
    )

    def over(number: MemoryId) -> bool:
        while number in known:
            successor = known[number].superseded_by
            if successor is None:
                return True
            number = successor
        return number not in standing

    query = select(memory_table).where(
        among(memory_table.c.superseded_by, known), memory_table.c.valid_to.is_not(None)
    )
    back: list[MemoryId] = []
    for row in tx.execute(query).all():
        if over(MemoryId(row.superseded_by)):
            # The number of the successor stays in its row: see end_again.
            memories.change(tx, replace(memory_of(row), valid_to=None), indexing)
            back.append(MemoryId(row.id))
    return back


def end_again(tx: Transaction, back: Sequence[Memory], indexing: Indexing) -> None:
    """Let memories that came back take the places once more that they had taken."""
    known = {memory.id: memory for memory in back}
    query = select(memory_table).where(
        among(memory_table.c.superseded_by, known), memory_table.c.valid_to.is_(None)
    )
    for row in tx.execute(query).all():
        successor = known[MemoryId(row.superseded_by)]
        ended = replace(memory_of(row), valid_to=successor.recorded_at, superseded_by=successor.id)
        memories.change(tx, ended, indexing)
