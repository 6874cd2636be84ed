"""Memories: rows, words and entries written together; read by whoever may see them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import (
    Column,
    ColumnElement,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from long_running_agents.domain.memory import (
    Draft,
    Memory,
    MemoryId,
    Scope,
    Selection,
    Viewer,
    digest,
)
from long_running_agents.errors import NotFound
from long_running_agents.store import memory_entries, memory_words
from long_running_agents.store.among import among, among_given, packed, plain
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_entries import Indexing
from long_running_agents.store.memory_rows import as_read, memory_of
from long_running_agents.store.memory_tables import memories, memory_links
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds

_COLUMNS = [column.name for column in memories.columns]
_INSERT_WITH_ID = Prepared(insert(memories), _COLUMNS)
_INSERT = Prepared(insert(memories), _COLUMNS[1:])
_LAST_ID = Prepared(select(func.last_insert_rowid()))
_LINK = Prepared(insert(memory_links).prefix_with("OR IGNORE"), ["memory_id", "derived_from"])
_CHANGE = Prepared(
    update(memories)
    .where(memories.c.id == bindparam("new_id"))
    .values({name: bindparam(f"new_{name}") for name in _COLUMNS[1:]})
)
_ADD_WORDS = Prepared(
    text("INSERT INTO memory_words (rowid, words, owner) VALUES (:memory_id, :words, :owner_)")
)
_DROP_WORDS = Prepared(text("DELETE FROM memory_words WHERE rowid = :memory_id"))


def add(
    tx: Transaction,
    owner: str,
    draft: Draft,
    indexing: Indexing,
    now: datetime,
    *,
    previous: MemoryId | None = None,
) -> Memory:
    """Store a new memory with its words and its entry.

    Args:
        tx: The transaction.
        owner: Whose memory it is.
        draft: What is remembered.
        indexing: Makes what the index knows of it.
        now: The present moment.
        previous: The memory just before it in the same conversation.
    """
    stored = Memory(
        id=MemoryId(0),
        owner=owner,
        kind=draft.kind,
        scope=draft.scope,
        trust=draft.trust,
        actor=tx.redact(draft.actor),
        source=tx.redact(draft.source),
        content=tx.redact(draft.content),
        agent=draft.agent,
        session_id=draft.session_id,
        turn_id=draft.turn_id,
        previous=previous,
        event_at=draft.event_at or now,
        recorded_at=now,
        expires_at=draft.expires_at,
    )
    return put_back(tx, stored, draft.derived_from, indexing)


def put_back(
    tx: Transaction, memory: Memory, derived_from: Sequence[MemoryId], indexing: Indexing
) -> Memory:
    """Store a memory as it is, under its own number if it has one."""
    tx.run(_INSERT_WITH_ID if memory.id else _INSERT, _values(memory))
    row = tx.run(_LAST_ID, {})
    assert row is not None  # noqa: S101 - the insert above has just succeeded
    stored = replace(memory, id=MemoryId(row[0]))
    link(tx, stored, derived_from)
    index(tx, stored, indexing)
    return stored


def link(tx: Transaction, memory: Memory, derived_from: Sequence[MemoryId]) -> None:
    """Write what a memory was derived from, as far as that is there and the same owner's."""
    if not derived_from:
        return
    query = select(memories.c.id).where(
        plain(memories.c.owner) == memory.owner, among(memories.c.id, derived_from)
    )
    rows = [
        {"memory_id": memory.id, "derived_from": origin}
        for origin in tx.execute(query).scalars()
        if origin != memory.id
    ]
    if rows:
        tx.run_each(_LINK, rows)


def _values(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.id,
        "owner": memory.owner,
        "kind": memory.kind.value,
        "scope": memory.scope.value,
        "trust": memory.trust.value,
        "actor": memory.actor,
        "source": memory.source,
        "content": memory.content,
        "digest": digest(memory.content),
        "agent": memory.agent,
        "session_id": memory.session_id,
        "turn_id": memory.turn_id,
        "previous_id": memory.previous,
        "event_at": microseconds(memory.event_at),
        "recorded_at": microseconds(memory.recorded_at),
        "valid_to": _moment(memory.valid_to),
        "expires_at": _moment(memory.expires_at),
        "superseded_by": memory.superseded_by,
        "seen": memory.seen,
        "enabled": memory.enabled,
    }


def _moment(moment: datetime | None) -> int | None:
    return None if moment is None else microseconds(moment)


def index(tx: Transaction, memory: Memory, indexing: Indexing) -> None:
    """Write what the index knows of a memory that it does not know yet."""
    indexed = indexing(memory.content)
    owner = f"o{memory_entries.code(tx, memory.owner)}"
    tx.run(_ADD_WORDS, {"memory_id": memory.id, "words": indexed.words, "owner_": owner})
    memory_entries.put(tx, memory, indexed)


def _is(column: Column[str], name: str | None) -> ColumnElement[bool]:
    # A name from a command line may hold halves of letters, which SQLite cannot be asked for.
    return column == (None if name is None else name.encode("utf-8", "replace").decode())


def visible(viewer: Viewer) -> ColumnElement[bool]:
    """What a viewer may see, as a condition on every query."""
    mine = _is(memories.c.owner, viewer.owner)
    scopes = [memories.c.scope == Scope.USER.value]
    if viewer.agent is not None:
        scopes.append(
            and_(memories.c.scope == Scope.AGENT.value, _is(memories.c.agent, viewer.agent))
        )
    if viewer.session_id is not None:
        scopes.append(
            and_(
                memories.c.scope == Scope.SESSION.value,
                _is(memories.c.session_id, viewer.session_id),
            )
        )
    return and_(mine, or_(*scopes))


_MANY = Prepared(select(memories).where(among_given(memories.c.id, "ids")))


def many(tx: Transaction, viewer: Viewer, ids: Sequence[int]) -> dict[int, Memory]:
    """Those of some memories that a viewer may see, by their numbers."""
    # By number alone: asked for the owner too, the planner walks through all the owner has.
    found = (as_read(row) for row in tx.run_all(_MANY, {"ids": packed(ids)}))
    return {memory.id: memory for memory in found if _sees(viewer, memory)}


def _sees(viewer: Viewer, memory: Memory) -> bool:
    match memory.scope:
        case Scope.USER:
            inside = True
        case Scope.AGENT:
            inside = viewer.agent is not None and memory.agent == viewer.agent
        case Scope.SESSION:
            inside = viewer.session_id is not None and memory.session_id == viewer.session_id
    return inside and memory.owner == viewer.owner


_LARGEST = 2**63
"""No number is as large as this; SQLite could not even be asked for it."""


def get(tx: Transaction, owner: str, number: MemoryId) -> Memory:
    """A memory of an owner, in whichever scope."""
    query = select(memories).where(memories.c.id == number, memories.c.owner == owner)
    row = tx.execute(query).first() if 0 < number < _LARGEST else None
    if row is None:
        raise NotFound(f"No memory #{number}.", hint="'lra memory list' shows what there is.")
    return memory_of(row)


def same(tx: Transaction, owner: str, draft: Draft, now: datetime) -> Memory | None:
    """A current memory with just this content, wherever all who may see the draft see it too.

    One that is switched off is none: what is written again is meant to be found.
    """
    places = [memories.c.scope == Scope.USER.value]
    if draft.scope is Scope.AGENT:
        places.append(and_(memories.c.scope == Scope.AGENT.value, memories.c.agent == draft.agent))
    if draft.scope is Scope.SESSION:
        places.append(
            and_(memories.c.scope == Scope.SESSION.value, memories.c.session_id == draft.session_id)
        )
    query = select(memories).where(
        memories.c.owner == owner,
        memories.c.digest == digest(tx.redact(draft.content)),
        plain(memories.c.kind) == draft.kind.value,
        memories.c.valid_to.is_(None),
        memories.c.enabled,
        or_(memories.c.expires_at.is_(None), memories.c.expires_at > now),
        or_(*places),
    )
    row = tx.execute(query.order_by(memories.c.id)).first()
    return None if row is None else memory_of(row)


def saw_again(tx: Transaction, memory: Memory, draft: Draft, indexing: Indexing) -> Memory:
    """Note that the same was written once more, and by whom if that is trusted more."""
    ends = (memory.expires_at, draft.expires_at)
    again = replace(
        memory,
        seen=memory.seen + 1,
        expires_at=max((end for end in ends if end is not None), default=None)
        if None not in ends
        else None,
    )
    if draft.trust.rank > memory.trust.rank:
        # From now on it rests on the better word: forgetting the other source leaves it.
        again = replace(
            again,
            trust=draft.trust,
            actor=tx.redact(draft.actor),
            source=tx.redact(draft.source),
            agent=draft.agent,
            session_id=draft.session_id,
            turn_id=draft.turn_id,
        )
        tx.execute(delete(memory_links).where(memory_links.c.memory_id == memory.id))
        link(tx, again, draft.derived_from)
    change(tx, again, indexing)
    return again


def change(tx: Transaction, memory: Memory, indexing: Indexing) -> None:
    """Write the row and the entry of a memory anew; its content stays what it was."""
    tx.run(_CHANGE, {f"new_{name}": value for name, value in _values(memory).items()})
    memory_entries.put(tx, memory, indexing(memory.content))


def supersede(
    tx: Transaction, old: Memory, new: MemoryId, indexing: Indexing, now: datetime
) -> None:
    """Let a newer memory take the place of another, which stays as history."""
    change(tx, replace(old, valid_to=now, superseded_by=new), indexing)


def switch(tx: Transaction, memory: Memory, indexing: Indexing, *, enabled: bool) -> Memory:
    """Switch a memory on or off."""
    switched = replace(memory, enabled=enabled)
    change(tx, switched, indexing)
    return switched


_MOST_LISTED = _CHUNK = 1000


def listed(
    tx: Transaction,
    viewer: Viewer,
    selection: Selection,
    *,
    history: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> list[Memory]:
    """What a viewer may see, the latest first.

    Args:
        tx: The transaction.
        viewer: Who looks.
        selection: Which memories are meant; an empty one means all.
        history: Also those that newer ones have superseded.
        limit: How many, at most.
        offset: How many of the latest to leave out.
    """
    query = select(memories).where(visible(viewer), *_conditions(selection))
    if not history:
        query = query.where(memories.c.valid_to.is_(None))
    query = query.order_by(memories.c.id.desc()).offset(max(0, offset))
    query = query.limit(max(0, min(limit, _MOST_LISTED)))
    return [memory_of(row) for row in tx.execute(query)]


def _conditions(selection: Selection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if selection.ids is not None:
        conditions.append(among(memories.c.id, selection.ids))
    if selection.session_id is not None:
        conditions.append(_is(memories.c.session_id, selection.session_id))
    if selection.source is not None:
        conditions.append(_is(memories.c.source, selection.source))
    if selection.kind is not None:
        conditions.append(memories.c.kind == selection.kind.value)
    if selection.before is not None:
        conditions.append(memories.c.recorded_at < selection.before)
    return conditions


def selected(tx: Transaction, owner: str, selection: Selection) -> list[Memory]:
    """All memories of an owner that a selection means, in whichever scope, old ones included."""
    mine = memories.c.owner if selection.ids is None else plain(memories.c.owner)
    query = select(memories).where(mine == owner, *_conditions(selection))
    return [memory_of(row) for row in tx.execute(query.order_by(memories.c.id))]


def from_source(tx: Transaction, owner: str, source: str) -> list[int]:
    """The numbers of an owner's memories from one source, in their order."""
    query = select(memories.c.id).where(memories.c.owner == owner, _is(memories.c.source, source))
    return list(tx.execute(query.order_by(memories.c.id)).scalars())


def every(tx: Transaction, owner: str) -> list[Memory]:
    """All memories of an owner, in their order."""
    return selected(tx, owner, Selection())


def reindex(tx: Transaction, indexing: Indexing) -> None:
    """Make words and entries again from the memories alone."""
    memory_words.clear(tx)
    last = 0
    while rows := tx.execute(
        select(memories).where(memories.c.id > last).order_by(memories.c.id).limit(_CHUNK)
    ).all():
        for row in rows:
            index(tx, memory_of(row), indexing)
        last = rows[-1].id


def remove(tx: Transaction, owner: str, ids: Sequence[MemoryId]) -> None:
    """Delete memories of an owner with their words, vectors, entries and links."""
    query = select(memories.c.id).where(plain(memories.c.owner) == owner, among(memories.c.id, ids))
    there = [MemoryId(number) for number in tx.execute(query).scalars()]
    if not there:
        return
    tx.run_each(_DROP_WORDS, [{"memory_id": number} for number in there])
    tx.execute(delete(memories).where(among(memories.c.id, there)))
    memory_entries.note_change(tx, there)
