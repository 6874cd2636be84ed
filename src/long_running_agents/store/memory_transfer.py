"""What moving memories in and out needs to know of those that are there."""

from collections.abc import Collection

from sqlalchemy import select

from long_running_agents.domain.memory import Kind, Memory, MemoryId, Scope, digest
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memories


def numbers(tx: Transaction, owner: str, after: int, *, limit: int) -> list[MemoryId]:
    """The next numbers of an owner's memories after a number, in their order."""
    query = (
        select(memories.c.id)
        .where(memories.c.owner == owner, memories.c.id > after)
        .order_by(memories.c.id)
        .limit(limit)
    )
    return [MemoryId(number) for number in tx.execute(query).scalars()]


def same(
    tx: Transaction, memory: Memory, *, dated: bool, apart: Collection[MemoryId]
) -> MemoryId | None:
    """The number of a memory that says just this, in the same place and with the same end.

    A conversation may say the same thing twice: there it must be the same speaker in the same
    session at the same moment.

    Args:
        tx: The transaction.
        memory: What is looked for; its number does not matter.
        dated: Whether the moment of a conversation memory is known.
        apart: Conversation memories that are another's match already.
    """
    query = (
        select(memories.c.id)
        .where(memories.c.owner == memory.owner, memories.c.digest == digest(memory.content))
        .where(memories.c.kind == memory.kind.value, memories.c.scope == memory.scope.value)
        .where(memories.c.valid_to.is_not_distinct_from(memory.valid_to))
        .order_by(memories.c.id)
    )
    talk = memory.kind is Kind.CONVERSATION
    if memory.scope is Scope.AGENT:
        query = query.where(memories.c.agent.is_not_distinct_from(memory.agent))
    if talk or memory.scope is Scope.SESSION:
        query = query.where(memories.c.session_id.is_not_distinct_from(memory.session_id))
    if talk:
        query = query.where(memories.c.actor == memory.actor)
    if talk and dated:
        query = query.where(memories.c.event_at == memory.event_at)
    found = (MemoryId(number) for number in tx.execute(query).scalars())
    return next((number for number in found if not talk or number not in apart), None)
