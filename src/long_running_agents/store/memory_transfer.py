"""What moving memories in and out needs to know of those that are there."""

from collections.abc import Collection

from sqlalchemy import bindparam, select

from long_running_agents.domain.memory import Kind, Memory, MemoryId, Scope, digest
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memories
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds

# Asked once for every line of an import.
_SAME = Prepared(
    select(
        memories.c.id,
        memories.c.kind,
        memories.c.scope,
        memories.c.agent,
        memories.c.session_id,
        memories.c.actor,
        memories.c.valid_to,
        memories.c.event_at,
    )
    .where(memories.c.owner == bindparam("owner_"), memories.c.digest == bindparam("digest_"))
    .order_by(memories.c.id)
)


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
    talk = memory.kind is Kind.CONVERSATION
    place = _place(
        kind=memory.kind.value,
        scope=memory.scope.value,
        agent=memory.agent,
        session=memory.session_id,
        actor=memory.actor,
    )
    ended = None if memory.valid_to is None else microseconds(memory.valid_to)
    at = microseconds(memory.event_at) if talk and dated else None
    values = {"owner_": memory.owner, "digest_": digest(memory.content)}
    for number, kind, scope, agent, session, actor, valid_to, event_at in tx.run_all(_SAME, values):
        there = _place(kind=kind, scope=scope, agent=agent, session=session, actor=actor)
        alike = there == place and valid_to == ended and at in (None, event_at)
        if alike and not (talk and number in apart):
            return MemoryId(number)
    return None


def _place(
    *, kind: str, scope: str, agent: str | None, session: str | None, actor: str
) -> tuple[object, ...]:
    """What two memories must have in common to be the same."""
    talk = kind == Kind.CONVERSATION.value
    return (
        kind,
        scope,
        agent if scope == Scope.AGENT.value else None,
        session if talk or scope == Scope.SESSION.value else None,
        actor if talk else None,
    )
