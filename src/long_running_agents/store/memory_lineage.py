"""Lineage: what a memory was derived from, what it superseded, and what was said before it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlalchemy import bindparam, func, literal_column, select, text

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import (
    Memory,
    MemoryId,
    MemoryKind,
    MemoryScope,
    Selection,
    digest,
)
from long_running_agents.store import memories
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.memories import memory_of
from long_running_agents.store.sql import among, among_given, packed, plain
from long_running_agents.store.tables import memories as memory_table
from long_running_agents.store.tables import memory_links


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


def revive(tx: Transaction, gone: Sequence[Memory]) -> list[MemoryId]:
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
            memories.change(tx, replace(memory_of(row), valid_to=None))
            back.append(MemoryId(row.id))
    return back


def end_again(tx: Transaction, back: Sequence[Memory]) -> None:
    """Let memories that came back take the places once more that they had taken."""
    known = {memory.id: memory for memory in back}
    query = select(memory_table).where(
        among(memory_table.c.superseded_by, known), memory_table.c.valid_to.is_(None)
    )
    for row in tx.execute(query).all():
        successor = known[MemoryId(row.superseded_by)]
        ended = replace(memory_of(row), valid_to=successor.recorded_at, superseded_by=successor.id)
        memories.change(tx, ended)


_SAID = plain(memory_table.c.kind) == MemoryKind.CONVERSATION.value


_OF_TURN = Prepared(
    text(
        "SELECT id FROM memories INDEXED BY memories_by_turn"
        " WHERE turn_id = :turn AND owner = :owner_ AND kind = :kind_ ORDER BY id"
    )
)


def of_turn(tx: Transaction, owner: str, turn_id: TurnId) -> list[MemoryId]:
    """The conversation memories of a turn."""
    values = {"turn": turn_id, "owner_": owner, "kind_": MemoryKind.CONVERSATION.value}
    return [MemoryId(row[0]) for row in tx.run_all(_OF_TURN, values)]


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

    A turn that is about to be remembered anew does not count.
    """
    said = MemoryKind.CONVERSATION.value
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


def relink(tx: Transaction, owner: str, sessions: Iterable[SessionId | None]) -> list[MemoryId]:
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
            memories.change(tx, replace(memory_of(row), previous=row.before))
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


# Asked once for every line of an import.
_SAME = Prepared(
    select(memory_table)
    .where(
        memory_table.c.owner == bindparam("owner_"), memory_table.c.digest == bindparam("digest_")
    )
    .order_by(memory_table.c.id)
)


def numbers(tx: Transaction, owner: str, after: int, *, limit: int) -> list[MemoryId]:
    """The next numbers of an owner's memories after a number, in their order."""
    query = (
        select(memory_table.c.id)
        .where(memory_table.c.owner == owner, memory_table.c.id > after)
        .order_by(memory_table.c.id)
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
    talk = memory.kind is MemoryKind.CONVERSATION
    at = memory.event_at if talk and dated else None
    values = {"owner_": memory.owner, "digest_": digest(memory.content)}
    for known in map(memory_of, tx.all(_SAME, values)):
        alike = _place(known) == _place(memory) and at in (None, known.event_at)
        if alike and not (talk and known.id in apart):
            return known.id
    return None


def _place(memory: Memory) -> tuple[object, ...]:
    """What two memories must have in common to be the same."""
    talk = memory.kind is MemoryKind.CONVERSATION
    return (
        memory.kind,
        memory.scope,
        memory.agent if memory.scope is MemoryScope.AGENT else None,
        memory.session_id if talk or memory.scope is MemoryScope.SESSION else None,
        memory.actor if talk else None,
        memory.valid_to,
    )
