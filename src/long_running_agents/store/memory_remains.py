"""Remains: what a deleted memory would leave in the database file.

SQLite only marks the place of a deleted row as free, and its full-text index keeps deleted words
until it next merges its parts. Who wants something gone at once wants that gone, too.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from sqlalchemy import Column, select, text, update

from long_running_agents.domain.memory import Memory
from long_running_agents.store import memory_words
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memories, memory_names


@contextmanager
def overwriting(tx: Transaction) -> Generator[None]:
    """Overwrite what is deleted meanwhile."""
    before = int(tx.execute(text("PRAGMA secure_delete")).scalar_one())
    tx.execute(text("PRAGMA secure_delete = ON"))
    yield
    tx.execute(text(f"PRAGMA secure_delete = {before}"))


def wipe(tx: Transaction, gone: Sequence[Memory]) -> None:
    """Leave neither words nor names of deleted memories behind."""
    if gone:
        _forget_names(tx, gone)
        memory_words.tidy(tx)


def _forget_names(tx: Transaction, gone: Sequence[Memory]) -> None:
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


def _used(tx: Transaction, column: Column[str]) -> set[str]:
    return set(tx.execute(select(column).distinct().where(column.is_not(None))).scalars())
