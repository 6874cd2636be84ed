"""Forgetting: memories and what was derived from them, and everything that was made of either.

What is forgotten leaves the tables that are searched, exported and mirrored. For thirty days it
lies in the trash, from where it can be brought back, unless it is to be gone at once.

Named by its number, a memory goes with everything it has superseded, which says nearly the same.
Forgotten for where it came from, it goes alone: what it had superseded is true again, as if it had
never been heard.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from long_running_agents.domain.ids import new_id
from long_running_agents.domain.memory import Forgetting, Memory, MemoryId, Selection
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import UsageError
from long_running_agents.memory import words
from long_running_agents.store import (
    events,
    memories,
    memory_descent,
    memory_remains,
    memory_talk,
    memory_trash,
    memory_vectors,
)
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.memory_trash import Thrown

KEPT = timedelta(days=30)
"""How long something forgotten can be brought back."""


async def rehearse(database: Database, owner: str, selection: Selection) -> Forgetting:
    """What would be forgotten."""
    return await database.read(lambda tx: _meant(tx, owner, selection))


async def forget(
    database: Database, clock: Clock, owner: str, selection: Selection, *, at_once: bool = False
) -> tuple[Forgetting, list[MemoryId]]:
    """Forget what a selection means, with everything derived from it.

    Returns:
        What was forgotten, and the memories that need new vectors because of it.
    """
    now = clock.now()
    batch = None if at_once else new_id("forget", now)

    def work(tx: Transaction) -> tuple[Forgetting, list[MemoryId]]:
        meant = _meant(tx, owner, selection)
        ids = [memory.id for memory in meant.memories]
        if batch is None:
            return _forget_for_good(tx, owner, selection, meant, now)
        if not ids:
            return meant, []
        origins = memory_descent.origins(tx, ids)
        rows = [Thrown(memory, origins.get(memory.id, [])) for memory in meant.memories]
        memory_trash.put(tx, batch, rows, now=now, until=now + KEPT)
        return replace(meant, batch=batch), _remove(tx, owner, meant.memories)

    return await database.write(work)


def _forget_for_good(
    tx: Transaction, owner: str, selection: Selection, meant: Forgetting, now: datetime
) -> tuple[Forgetting, list[MemoryId]]:
    """Also what lies in the trash already, and what was derived from it."""
    ids = [memory.id for memory in meant.memories]
    with memory_remains.overwriting(tx):
        changed = _remove(tx, owner, meant.memories)
        thrown = memory_trash.shred(tx, owner, selection, ids, now)
        gone = (*meant.memories, *thrown)
        memory_remains.wipe(tx, gone)
    return replace(meant, memories=gone), changed


async def undo(
    database: Database, clock: Clock, owner: str, batch: str
) -> tuple[list[Memory], list[MemoryId]]:
    """Bring back what was forgotten together, under its old numbers.

    Returns:
        What came back, and the memories that need new vectors because of it.
    """
    now = clock.now()

    def work(tx: Transaction) -> tuple[list[Memory], list[MemoryId]]:
        rows = memory_trash.take(tx, owner, batch, now)
        back = [memories.put_back(tx, row.memory, [], words.indexed) for row in rows]
        for row in rows:
            memories.link(tx, row.memory, row.origins)
        memory_descent.end_again(tx, back, words.indexed)
        changed = _relink(tx, owner, back)
        ids = frozenset(memory.id for memory in back)
        # Read again: some have another neighbour than they had.
        return memories.selected(tx, owner, Selection(ids=ids)), sorted(ids.union(changed))

    return await database.write(work)


def _meant(tx: Transaction, owner: str, selection: Selection) -> Forgetting:
    if selection.empty:
        raise UsageError(
            "Nothing says what to forget.",
            hint="Name memories, a query, a session, a source or an age.",
        )
    named = memories.selected(tx, owner, selection)
    ids = [memory.id for memory in named]
    older = [] if selection.ids is None else memory_descent.superseded(tx, owner, ids)
    roots = list(dict.fromkeys([*ids, *(memory.id for memory in older)]))
    derived = memory_descent.derived(tx, owner, roots)
    known = {memory.id: memory for memory in [*named, *older, *derived]}
    return Forgetting(
        batch=None,
        memories=tuple(known[number] for number in sorted(known)),
        derived=frozenset(memory.id for memory in derived),
    )


def _remove(tx: Transaction, owner: str, gone: Sequence[Memory]) -> list[MemoryId]:
    ids = [memory.id for memory in gone]
    events.scrub_recalled(tx, frozenset(ids))
    memories.remove(tx, owner, ids)
    memory_descent.revive(tx, gone, words.indexed)
    return _relink(tx, owner, gone)


def _relink(tx: Transaction, owner: str, moved: Sequence[Memory]) -> list[MemoryId]:
    """Mend the row of what was said; whatever has another neighbour now has lost its vector."""
    sessions = [memory.session_id for memory in moved]
    changed = memory_talk.relink(tx, owner, sessions, words.indexed)
    memory_vectors.drop(tx, changed)
    return changed
