"""Counts of what one owner has; another's memories are not even counted."""

from sqlalchemy import ColumnElement, func, select

from long_running_agents.domain.memory import Kind
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memories, memory_spaces, memory_vectors


def kinds(tx: Transaction, owner: str) -> dict[Kind, int]:
    """How many current memories of each kind there are."""
    query = (
        select(memories.c.kind, func.count())
        .where(memories.c.owner == owner, memories.c.valid_to.is_(None))
        .group_by(memories.c.kind)
    )
    return {Kind(kind): count for kind, count in tx.execute(query)}


def spaces(tx: Transaction, owner: str) -> dict[str, int]:
    """How many vectors each space has."""
    query = (
        select(memory_spaces.c.name, func.count())
        .join(memory_vectors, memory_vectors.c.space == memory_spaces.c.id)
        .join(memories, memories.c.id == memory_vectors.c.memory_id)
        .where(memories.c.owner == owner)
        .group_by(memory_spaces.c.name)
    )
    return {row[0]: row[1] for row in tx.execute(query)}


def missing(tx: Transaction, owner: str, space: str) -> int:
    """How many memories, old ones included, have no vector in a space."""
    mine: ColumnElement[bool] = memories.c.owner == owner
    every = tx.execute(select(func.count()).select_from(memories).where(mine)).scalar_one()
    return every - spaces(tx, owner).get(space, 0)
