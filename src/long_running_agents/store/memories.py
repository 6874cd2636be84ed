"""Memories: rows, words and entries written together; read by whoever may see them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import (
    Draft,
    Kind,
    Memory,
    MemoryId,
    Scope,
    Selection,
    Trust,
    Viewer,
    digest,
)
from long_running_agents.errors import NotFound
from long_running_agents.store import memory_entries, memory_words
from long_running_agents.store.among import among
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_entries import Indexing
from long_running_agents.store.memory_tables import memories, memory_links
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds

_COLUMNS = [column.name for column in memories.columns]
_INSERT_WITH_ID = Prepared(insert(memories), _COLUMNS)
_INSERT = Prepared(insert(memories), _COLUMNS[1:])
_LAST_ID = Prepared(select(func.last_insert_rowid()))
_LINK = Prepared(insert(memory_links).prefix_with("OR IGNORE"), ["memory_id", "derived_from"])
_ADD_WORDS = Prepared(
    text("INSERT INTO memory_words (rowid, words, owner) VALUES (:memory_id, :words, :owner_)")
)
_DROP_WORDS = Prepared(text("DELETE FROM memory_words WHERE rowid = :memory_id"))


def _memory(row: Row[Any]) -> Memory:
    return Memory(
        id=MemoryId(row.id),
        owner=row.owner,
        kind=Kind(row.kind),
        scope=Scope(row.scope),
        trust=Trust(row.trust),
        actor=row.actor,
        source=row.source,
        content=row.content,
        agent=row.agent,
        session_id=None if row.session_id is None else SessionId(row.session_id),
        turn_id=None if row.turn_id is None else TurnId(row.turn_id),
        previous=None if row.previous_id is None else MemoryId(row.previous_id),
        event_at=row.event_at,
        recorded_at=row.recorded_at,
        valid_to=row.valid_to,
        superseded_by=None if row.superseded_by is None else MemoryId(row.superseded_by),
        expires_at=row.expires_at,
        seen=row.seen,
    )


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
        actor=draft.actor,
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
    link(tx, stored.id, derived_from)
    index(tx, stored, indexing)
    return stored


def link(tx: Transaction, number: MemoryId, derived_from: Sequence[MemoryId]) -> None:
    """Write what a memory was derived from, as far as that is still there."""
    if not derived_from:
        return
    there = tx.execute(select(memories.c.id).where(among(memories.c.id, derived_from))).scalars()
    rows = [{"memory_id": number, "derived_from": origin} for origin in there]
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
    }


def _moment(moment: datetime | None) -> int | None:
    return None if moment is None else microseconds(moment)


def index(tx: Transaction, memory: Memory, indexing: Indexing) -> None:
    """Write what the index knows of a memory that it does not know yet."""
    indexed = indexing(memory.content)
    owner = f"o{memory_entries.code(tx, memory.owner)}"
    tx.run(_ADD_WORDS, {"memory_id": memory.id, "words": indexed.words, "owner_": owner})
    memory_entries.put(tx, memory, indexed)


def visible(viewer: Viewer) -> ColumnElement[bool]:
    """What a viewer may see, as a condition on every query."""
    mine = memories.c.owner == viewer.owner
    scopes = [memories.c.scope == Scope.USER.value]
    if viewer.agent is not None:
        scopes.append(and_(memories.c.scope == Scope.AGENT.value, memories.c.agent == viewer.agent))
    if viewer.session_id is not None:
        scopes.append(
            and_(
                memories.c.scope == Scope.SESSION.value, memories.c.session_id == viewer.session_id
            )
        )
    return and_(mine, or_(*scopes))


# The plus keeps the planner from the index by owner, along which it would walk through everything.
_MANY = text(
    f"SELECT {', '.join(_COLUMNS)} FROM memories WHERE id IN (SELECT value FROM json_each(:ids))"
    " AND +owner = :owner_ AND (scope = 'user' OR (scope = 'agent' AND agent = :agent_)"
    " OR (scope = 'session' AND session_id = :session))"
).columns(*memories.columns)


def many(tx: Transaction, viewer: Viewer, ids: Sequence[int]) -> dict[int, Memory]:
    """Those of some memories that a viewer may see, by their numbers."""
    asked = {"owner_": viewer.owner, "agent_": viewer.agent, "session": viewer.session_id}
    found = tx.execute(_MANY, {**asked, "ids": json.dumps(list(ids))})
    return {row.id: _memory(row) for row in found}


def get(tx: Transaction, owner: str, number: MemoryId) -> Memory:
    """A memory of an owner, in whichever scope."""
    query = select(memories).where(memories.c.id == number, memories.c.owner == owner)
    row = tx.execute(query).first()
    if row is None:
        raise NotFound(f"No memory #{number}.", hint="'lra memory list' shows what there is.")
    return _memory(row)


def same(tx: Transaction, owner: str, draft: Draft) -> Memory | None:
    """A current memory with just this content, in the same place."""
    query = select(memories).where(
        memories.c.owner == owner,
        memories.c.digest == digest(tx.redact(draft.content)),
        memories.c.kind == draft.kind.value,
        memories.c.scope == draft.scope.value,
        memories.c.valid_to.is_(None),
    )
    if draft.scope is Scope.AGENT:
        query = query.where(memories.c.agent == draft.agent)
    if draft.scope is Scope.SESSION:
        query = query.where(memories.c.session_id == draft.session_id)
    row = tx.execute(query).first()
    return None if row is None else _memory(row)


def saw_again(tx: Transaction, memory: Memory) -> None:
    """Note that the same was written once more."""
    tx.execute(update(memories).where(memories.c.id == memory.id).values(seen=memories.c.seen + 1))


def supersede(
    tx: Transaction, old: Memory, new: MemoryId, indexing: Indexing, now: datetime
) -> None:
    """Let a newer memory take the place of another, which stays as history."""
    ended = replace(old, valid_to=now, superseded_by=new)
    tx.execute(
        update(memories)
        .where(memories.c.id == old.id)
        .values(valid_to=ended.valid_to, superseded_by=new)
    )
    memory_entries.put(tx, ended, indexing(ended.content))


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
    query = query.order_by(memories.c.id.desc()).limit(min(limit, _MOST_LISTED)).offset(offset)
    return [_memory(row) for row in tx.execute(query)]


def _conditions(selection: Selection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if selection.ids:
        conditions.append(among(memories.c.id, selection.ids))
    if selection.session_id is not None:
        conditions.append(memories.c.session_id == selection.session_id)
    if selection.source is not None:
        conditions.append(memories.c.source == selection.source)
    if selection.kind is not None:
        conditions.append(memories.c.kind == selection.kind.value)
    if selection.before is not None:
        conditions.append(memories.c.recorded_at < selection.before)
    return conditions


def selected(tx: Transaction, owner: str, selection: Selection) -> list[Memory]:
    """All memories of an owner that a selection means, in whichever scope, old ones included."""
    query = select(memories).where(memories.c.owner == owner, *_conditions(selection))
    return [_memory(row) for row in tx.execute(query.order_by(memories.c.id))]


def from_source(tx: Transaction, owner: str, source: str) -> list[int]:
    """The numbers of an owner's memories from one source, in their order."""
    query = select(memories.c.id).where(memories.c.owner == owner, memories.c.source == source)
    return list(tx.execute(query.order_by(memories.c.id)).scalars())


def every(tx: Transaction, owner: str) -> list[Memory]:
    """All memories of an owner, in their order."""
    return selected(tx, owner, Selection())


def derived(tx: Transaction, owner: str, ids: Sequence[MemoryId]) -> list[Memory]:
    """What was derived from some memories, and from those again; not the memories themselves."""
    found: set[int] = set(ids)
    edge = list(ids)
    while edge:
        query = select(memory_links.c.memory_id).where(among(memory_links.c.derived_from, edge))
        edge = [MemoryId(row.memory_id) for row in tx.execute(query) if row.memory_id not in found]
        found.update(edge)
    rest = frozenset(MemoryId(number) for number in found.difference(ids))
    return selected(tx, owner, Selection(ids=rest)) if rest else []


def origins(tx: Transaction, ids: Sequence[MemoryId]) -> dict[MemoryId, list[MemoryId]]:
    """What each of some memories was derived from."""
    query = select(memory_links).where(among(memory_links.c.memory_id, ids))
    found: dict[MemoryId, list[MemoryId]] = {}
    for row in tx.execute(query.order_by(memory_links.c.derived_from)):
        found.setdefault(MemoryId(row.memory_id), []).append(MemoryId(row.derived_from))
    return found


def superseded(tx: Transaction, owner: str, number: MemoryId) -> list[Memory]:
    """The memories whose place one has taken, the latest first."""
    query = select(memories).where(memories.c.owner == owner, memories.c.superseded_by == number)
    before = [_memory(row) for row in tx.execute(query.order_by(memories.c.id.desc()))]
    return [step for old in before for step in (old, *superseded(tx, owner, old.id))]


def of_turn(tx: Transaction, owner: str, turn_id: TurnId) -> list[MemoryId]:
    """The conversation memories of a turn."""
    query = (
        select(memories.c.id)
        .where(memories.c.turn_id == turn_id, memories.c.owner == owner)
        .where(memories.c.kind == Kind.CONVERSATION.value)
    )
    return [MemoryId(number) for number in tx.execute(query).scalars()]


def reindex(tx: Transaction, indexing: Indexing) -> None:
    """Make words and entries again from the memories alone."""
    memory_words.clear(tx)
    last = 0
    while rows := tx.execute(
        select(memories).where(memories.c.id > last).order_by(memories.c.id).limit(_CHUNK)
    ).all():
        for row in rows:
            index(tx, _memory(row), indexing)
        last = rows[-1].id


def followers(tx: Transaction, ids: Sequence[MemoryId]) -> list[MemoryId]:
    """What was said just after some memories, apart from these themselves."""
    query = select(memories.c.id).where(
        among(memories.c.previous_id, ids), ~among(memories.c.id, ids)
    )
    return [MemoryId(number) for number in tx.execute(query).scalars()]


# By its session: the planner would walk back through everything the owner ever said.
_LAST_SAID = Prepared(
    text(
        "SELECT max(id) FROM memories INDEXED BY memories_by_session"
        " WHERE session_id = :session AND owner = :owner_ AND kind = 'conversation'"
    )
)


def last_said(tx: Transaction, owner: str, session_id: SessionId) -> MemoryId | None:
    """The latest conversation memory of a session."""
    row = tx.run(_LAST_SAID, {"session": session_id, "owner_": owner})
    return None if row is None or row[0] is None else MemoryId(row[0])


def remove(tx: Transaction, owner: str, ids: Sequence[MemoryId]) -> None:
    """Delete memories with their words, vectors, entries and links."""
    rows = [{"memory_id": number} for number in ids]
    if not rows:
        return
    tx.run_each(_DROP_WORDS, rows)
    tx.execute(delete(memories).where(memories.c.owner == owner, among(memories.c.id, ids)))
    memory_entries.note_change(tx, ids)


def counts(tx: Transaction, owner: str) -> dict[Kind, int]:
    """How many current memories of each kind there are."""
    query = (
        select(memories.c.kind, func.count())
        .where(memories.c.owner == owner, memories.c.valid_to.is_(None))
        .group_by(memories.c.kind)
    )
    return {Kind(kind): count for kind, count in tx.execute(query)}
