"""Talk: the memories of conversations, each with the one that was said just before it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import bindparam, func, literal_column, select, text

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Kind, MemoryId
from long_running_agents.store import memories
from long_running_agents.store.among import among_given, packed, plain
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_entries import Indexing
from long_running_agents.store.memory_rows import memory_of
from long_running_agents.store.memory_tables import memories as memory_table
from long_running_agents.store.prepared import Prepared

_SAID = plain(memory_table.c.kind) == Kind.CONVERSATION.value


_OF_TURN = Prepared(
    text(
        "SELECT id FROM memories INDEXED BY memories_by_turn"
        " WHERE turn_id = :turn AND owner = :owner_ AND kind = :kind_ ORDER BY id"
    )
)


def of_turn(tx: Transaction, owner: str, turn_id: TurnId) -> list[MemoryId]:
    """The conversation memories of a turn."""
    values = {"turn": turn_id, "owner_": owner, "kind_": Kind.CONVERSATION.value}
    rows = tx.run_all(_OF_TURN, values)
    return [MemoryId(row[0]) for row in rows]


# By its session: the planner would walk back through everything the owner ever said.
_LAST_SAID = Prepared(
    text(
        "SELECT max(id) FROM memories INDEXED BY memories_by_session"
        " WHERE session_id = :session AND owner = :owner_ AND kind = :kind_"
        " AND (:anew IS NULL OR turn_id IS NOT :anew)"
    )
)


def last_said(
    tx: Transaction, owner: str, session_id: SessionId, *, anew: TurnId | None = None
) -> MemoryId | None:
    """The latest conversation memory of a session.

    Args:
        tx: The transaction.
        owner: Whose it is.
        session_id: The session.
        anew: A turn that is about to be remembered anew, and does not count.
    """
    said = Kind.CONVERSATION.value
    values = {"session": session_id, "owner_": owner, "kind_": said, "anew": anew}
    row = tx.run(_LAST_SAID, values)
    return None if row is None or row[0] is None else MemoryId(row[0])


_CONTENT = Prepared(
    select(memory_table.c.content).where(memory_table.c.id == bindparam("memory_id"))
)


def last_words(
    tx: Transaction, owner: str, session_id: SessionId, *, anew: TurnId | None = None
) -> str:
    """What the latest conversation memory of a session says; nothing when there is none."""
    last = last_said(tx, owner, session_id, anew=anew)
    row = None if last is None else tx.run(_CONTENT, {"memory_id": last})
    return "" if row is None else str(row[0])


def relink(
    tx: Transaction, owner: str, sessions: Iterable[SessionId | None], indexing: Indexing
) -> list[MemoryId]:
    """Let each memory of some sessions know the one before it again; those that had another.

    To be called when memories have gone or come back.
    """
    changed: list[MemoryId] = []
    for session in {session for session in sessions if session is not None}:
        before = func.lag(memory_table.c.id).over(order_by=memory_table.c.id).label("before")
        rows = select(memory_table, before).where(
            memory_table.c.session_id == session, plain(memory_table.c.owner) == owner, _SAID
        )
        said = rows.subquery()
        query = select(said).where(said.c.previous_id.is_distinct_from(said.c.before))
        for row in tx.execute(query).all():
            memories.change(tx, replace(memory_of(row), previous=row.before), indexing)
            changed.append(MemoryId(row.id))
    return changed


_BEFORE = memory_table.alias()
_WITH_CONTEXT = Prepared(
    select(
        memory_table.c.id,
        func.coalesce(_BEFORE.c.content, literal_column("''")),
        memory_table.c.content,
    )
    .outerjoin(_BEFORE, _BEFORE.c.id == memory_table.c.previous_id)
    .where(among_given(memory_table.c.id, "ids"))
    .order_by(memory_table.c.id)
)


def with_context(tx: Transaction, ids: Sequence[int]) -> dict[MemoryId, tuple[str, str]]:
    """Of each memory that is there, what was said just before it, and its content."""
    rows = tx.run_all(_WITH_CONTEXT, {"ids": packed(ids)})
    return {MemoryId(number): (said, own) for number, said, own in rows}
