"""Forgetting: a memory, what it replaced and what was derived from it, and everything made of them.

What is forgotten leaves the tables that are searched, exported and mirrored. For thirty days it
lies in the trash, from where it can be brought back, unless it is to be gone at once.
"""

from collections.abc import Sequence
from datetime import timedelta

from long_running_agents.domain.ids import new_id
from long_running_agents.domain.memory import Forgetting, Memory, MemoryId, Selection
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import UsageError
from long_running_agents.memory import words
from long_running_agents.store import (
    events,
    memories,
    memory_entries,
    memory_trash,
    memory_vectors,
)
from long_running_agents.store.database import Database, Transaction

KEPT = timedelta(days=30)
"""How long something forgotten can be brought back."""


async def rehearse(database: Database, owner: str, selection: Selection) -> Forgetting:
    """What would be forgotten."""
    return await database.read(lambda tx: _meant(tx, owner, selection))


async def forget(
    database: Database, clock: Clock, owner: str, selection: Selection, *, at_once: bool = False
) -> Forgetting:
    """Forget what a selection means, with everything derived from it."""
    now = clock.now()
    batch = None if at_once else new_id("forget", now)

    def work(tx: Transaction) -> Forgetting:
        meant = _meant(tx, owner, selection)
        ids = [memory.id for memory in meant.memories]
        if batch is not None and ids:
            origins = memories.origins(tx, ids)
            rows = [(memory, origins.get(memory.id, [])) for memory in meant.memories]
            memory_trash.put(tx, batch, rows, now=now, until=now + KEPT)
        _unlearn_context(tx, ids)
        events.scrub_recalled(tx, frozenset(ids))
        memories.remove(tx, owner, ids)
        return Forgetting(
            batch=batch if ids else None, memories=meant.memories, derived=meant.derived
        )

    return await database.write(work)


async def undo(database: Database, owner: str, batch: str) -> list[Memory]:
    """Bring back what was forgotten together, under its old numbers."""

    def work(tx: Transaction) -> list[Memory]:
        rows = memory_trash.take(tx, owner, batch)
        back = [memories.put_back(tx, memory, [], words.indexed) for memory, _ in rows]
        for memory, origins in rows:
            memories.link(tx, memory.id, origins)
        _unlearn_context(tx, [memory.id for memory in back])
        return back

    return await database.write(work)


def _meant(tx: Transaction, owner: str, selection: Selection) -> Forgetting:
    if selection.empty:
        raise UsageError(
            "Nothing says what to forget.",
            hint="Name memories, a query, a session, a source or an age.",
        )
    named = memories.selected(tx, owner, selection)
    ids = [memory.id for memory in named]
    # What a memory replaced says nearly the same: forgetting only the newest would bring it back.
    older = [old for memory in named for old in memories.superseded(tx, owner, memory.id)]
    roots = list(dict.fromkeys([*ids, *(memory.id for memory in older)]))
    derived = memories.derived(tx, owner, roots)
    known = {memory.id: memory for memory in [*named, *older, *derived]}
    return Forgetting(
        batch=None,
        memories=tuple(known[number] for number in sorted(known)),
        derived=frozenset(memory.id for memory in derived) - set(ids),
    )


def _unlearn_context(tx: Transaction, ids: Sequence[MemoryId]) -> None:
    """Drop the vectors of what came just after memories: they stand for those too."""
    followers = memories.followers(tx, ids)
    memory_vectors.drop(tx, followers)
    memory_entries.note_change(tx, followers)
