"""Memories: rows, words and entries written together; read by whoever may see them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    union_all,
)

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.memory import (
    Memory,
    MemoryDraft,
    MemoryId,
    MemoryKind,
    MemoryScope,
    Selection,
    Viewer,
    digest,
)
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import NotFound
from long_running_agents.store import memory_index
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.job_tables import learned
from long_running_agents.store.memory_index import Indexed
from long_running_agents.store.sql import (
    among,
    among_given,
    new_values,
    packed,
    plain,
    row_reader,
    stored_values,
    update_by_id,
)
from long_running_agents.store.tables import (
    memories,
    memory_links,
    memory_spaces,
    memory_turns,
    memory_vectors,
    microseconds,
    turns,
)
from long_running_agents.store.turns import turn_of

memory_of = row_reader(
    Memory,
    previous=attrgetter("previous_id"),
    # One that was revived remembers its successor, in case that is brought back.
    superseded_by=lambda row: None if row.valid_to is None else row.superseded_by,
)


_COLUMNS = [column.name for column in memories.columns]
_INSERT_WITH_ID = Prepared(insert(memories), _COLUMNS)
_INSERT = Prepared(insert(memories), _COLUMNS[1:])
_LAST_ID = Prepared(select(func.last_insert_rowid()))
_LINK = Prepared(insert(memory_links).prefix_with("OR IGNORE"), ["memory_id", "derived_from"])
_CHANGE = update_by_id(memories, _COLUMNS[1:])
_ADD_WORDS = Prepared(
    text("INSERT INTO memory_words (rowid, words, owner) VALUES (:memory_id, :words, :owner_)")
)
_DROP_WORDS = Prepared(text("DELETE FROM memory_words WHERE rowid = :memory_id"))


def add(
    tx: Transaction,
    owner: str,
    draft: MemoryDraft,
    indexed: Indexed,
    now: datetime,
    *,
    previous: MemoryId | None = None,
) -> Memory:
    """Store a new memory with its words and its entry."""
    memory = replace(
        as_memory(owner, draft, now),
        previous=previous,
        actor=tx.redact(draft.actor),
        source=tx.redact(draft.source),
        content=tx.redact(draft.content),
    )
    return put_back(tx, memory, draft.derived_from, indexed)


_DRAFTED = [each.name for each in fields(MemoryDraft) if each.name in Memory.__dataclass_fields__]


def as_memory(owner: str, draft: MemoryDraft, now: datetime) -> Memory:
    """A draft as the memory that it would become."""
    drafted: dict[str, Any] = {name: getattr(draft, name) for name in _DRAFTED}
    drafted["event_at"] = draft.event_at or now
    return Memory(id=MemoryId(0), owner=owner, previous=None, recorded_at=now, **drafted)


def put_back(
    tx: Transaction, memory: Memory, derived_from: Sequence[MemoryId], indexed: Indexed
) -> Memory:
    """Store a memory as it is, under its own number if it has one."""
    tx.run(_INSERT_WITH_ID if memory.id else _INSERT, _values(memory))
    row = tx.run(_LAST_ID, {})
    assert row is not None  # noqa: S101 - the insert above has just succeeded
    stored = replace(memory, id=MemoryId(row[0]))
    link(tx, stored, derived_from)
    index(tx, stored, indexed)
    return stored


def link(tx: Transaction, memory: Memory, derived_from: Sequence[MemoryId]) -> None:
    """Write what a memory was derived from, as far as that is there and the same owner's."""
    if not derived_from:
        return
    rows = [
        {"memory_id": memory.id, "derived_from": origin.id}
        for origin in tx.all(_MANY, {"ids": packed(derived_from)})
        if origin.id != memory.id and origin.owner == memory.owner
    ]
    if rows:
        tx.run_each(_LINK, rows)


def _values(memory: Memory) -> dict[str, object]:
    known_by = digest(memory.content)
    return stored_values(memories, memory, digest=known_by, previous_id=memory.previous)


def index(tx: Transaction, memory: Memory, indexed: Indexed) -> None:
    """Write what the index knows of a memory that it does not know yet."""
    owner = f"o{memory_index.code(tx, memory.owner)}"
    tx.run(_ADD_WORDS, {"memory_id": memory.id, "words": indexed.words, "owner_": owner})
    memory_index.put(tx, memory, indexed)


def _is(column: ColumnElement[str], name: str | None) -> ColumnElement[bool]:
    # A name from a command line may hold halves of letters, which SQLite cannot be asked for.
    return column == (None if name is None else name.encode("utf-8", "replace").decode())


def _visible(viewer: Viewer) -> ColumnElement[bool]:
    """What a viewer may see, as a condition on every query."""
    mine = _is(memories.c.owner, viewer.owner)
    scope = memories.c.scope
    seen = [scope == MemoryScope.USER.value]
    if viewer.agent is not None:
        seen.append((scope == MemoryScope.AGENT.value) & _is(memories.c.agent, viewer.agent))
    if viewer.session_id is not None:
        here = _is(memories.c.session_id, viewer.session_id)
        seen.append((scope == MemoryScope.SESSION.value) & here)
    return and_(mine, or_(*seen))


_MANY = Prepared(select(memories).where(among_given(memories.c.id, "ids")))


def many(tx: Transaction, viewer: Viewer, ids: Sequence[int]) -> dict[int, Memory]:
    """Those of some memories that a viewer may see, by their numbers."""
    # By number alone: asked for the owner too, the planner walks through all the owner has.
    found = (memory_of(row) for row in tx.all(_MANY, {"ids": packed(ids)}))
    return {memory.id: memory for memory in found if _sees(viewer, memory)}


def _sees(viewer: Viewer, memory: Memory) -> bool:
    match memory.scope:
        case MemoryScope.USER:
            inside = True
        case MemoryScope.AGENT:
            inside = viewer.agent is not None and memory.agent == viewer.agent
        case MemoryScope.SESSION:
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


def same(tx: Transaction, owner: str, draft: MemoryDraft, now: datetime) -> Memory | None:
    """A current memory with just this content, wherever all who may see the draft see it too.

    One that is switched off is none: what is written again is meant to be found.
    """
    reader = Viewer(
        owner=owner,
        agent=draft.agent if draft.scope is MemoryScope.AGENT else None,
        session_id=draft.session_id if draft.scope is MemoryScope.SESSION else None,
    )
    query = select(memories).where(
        _visible(reader),
        memories.c.digest == digest(tx.redact(draft.content)),
        plain(memories.c.kind) == draft.kind.value,
        memories.c.valid_to.is_(None),
        memories.c.enabled,
        or_(memories.c.expires_at.is_(None), memories.c.expires_at > now),
    )
    row = tx.execute(query.order_by(memories.c.id)).first()
    return None if row is None else memory_of(row)


def saw_again(tx: Transaction, memory: Memory, draft: MemoryDraft) -> Memory:
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
    change(tx, again)
    return again


def change(tx: Transaction, memory: Memory) -> None:
    """Write the row and the entry of a memory anew; its content stays what it was."""
    tx.run(_CHANGE, new_values(memory.id, **_values(memory)))
    memory_index.update(tx, memory)


def supersede(tx: Transaction, old: Memory, new: MemoryId, now: datetime) -> None:
    """Let a newer memory take the place of another, which stays as history."""
    change(tx, replace(old, valid_to=now, superseded_by=new))


def switch(tx: Transaction, memory: Memory, *, enabled: bool) -> Memory:
    """Switch a memory on or off."""
    switched = replace(memory, enabled=enabled)
    change(tx, switched)
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
    """What a viewer may see, the latest first."""
    limit, offset = max(0, min(limit, _MOST_LISTED)), max(0, offset)
    meant = [_visible(viewer), *_conditions(selection)]
    if not history:
        meant.append(memories.c.valid_to.is_(None))
    found = select(memories).where(*meant).order_by(memories.c.id.desc())
    if selection.ids is None and selection.session_id is None and selection.source is None:
        # The newest of each kind: there is an index for these, and none for all kinds together.
        some = select(memories.c.id).where(*meant).order_by(memories.c.id.desc())
        kinds = [some.where(memories.c.kind == kind.value) for kind in MemoryKind]
        each = [select(query.limit(limit + offset).subquery()) for query in kinds]
        newest = union_all(*each).subquery()
        found = select(memories).where(memories.c.id.in_(select(newest)))
        found = found.order_by(memories.c.id.desc())
    return [memory_of(row) for row in tx.execute(found.limit(limit).offset(offset))]


def _conditions(selection: Selection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if selection.ids is not None:
        conditions.append(among(memories.c.id, selection.ids))
    if selection.session_id is not None:
        conditions.append(_is(memories.c.session_id, selection.session_id))
    if selection.source is not None:
        below = [f"{place}{mark}" for place in selection.places for mark in "/?"]
        conditions.append(
            or_(
                *(_is(memories.c.source, place) for place in selection.places),
                *(_is(func.substr(memories.c.source, 1, len(text)), text) for text in below),
            )
        )
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


def emptied_index(tx: Transaction) -> Iterator[Memory]:
    """Empty the full-text index and go through all memories, for whoever indexes them anew."""
    memory_index.clear(tx)
    last = 0
    while rows := tx.execute(
        select(memories).where(memories.c.id > last).order_by(memories.c.id).limit(_CHUNK)
    ).all():
        yield from map(memory_of, rows)
        last = rows[-1].id


def remove(tx: Transaction, owner: str, ids: Sequence[MemoryId]) -> None:
    """Delete memories of an owner with their words, vectors, entries and links.

    What was refused or suggested of a conversation goes with its words.
    """
    query = select(memories.c.id).where(plain(memories.c.owner) == owner, among(memories.c.id, ids))
    there = [MemoryId(number) for number in tx.execute(query).scalars()]
    if not there:
        return
    tx.run_each(_DROP_WORDS, [{"memory_id": number} for number in there])
    said = select(memories.c.turn_id).where(
        among(memories.c.id, there), plain(memories.c.kind) == MemoryKind.CONVERSATION
    )
    quoted = delete(learned).where(learned.c.owner == owner, learned.c.memory_id.is_(None))
    tx.execute(quoted.where(learned.c.turn_id.in_(said)))
    tx.execute(delete(memories).where(among(memories.c.id, there)))
    memory_index.note_change(tx, there)


_ENDED = memories.c.valid_to.is_not(None)
# Not "other than": two stretches of an index are empty at once where nobody else is.
_OTHERS = select(memories.c.id).where(
    (memories.c.owner < bindparam("owner")) | (memories.c.owner > bindparam("owner"))
)
_KINDS = (
    select(memories.c.kind, func.count())
    .where(memories.c.owner == bindparam("owner"))
    .group_by(memories.c.kind)
)
_VECTORS = (
    select(func.count())
    .where(memory_vectors.c.space == memory_spaces.c.id)
    .correlate(memory_spaces)
)


def count_kinds(tx: Transaction, owner: str) -> tuple[dict[MemoryKind, int], int]:
    """How many current memories of each kind there are, and how many with the old ones."""
    # All without those that ended: both are counted in an index alone.
    every = dict(tx.execute(_KINDS, {"owner": owner}).all())
    ended = dict(tx.execute(_KINDS.where(_ENDED), {"owner": owner}).all())
    current = {MemoryKind(kind): count - ended.get(kind, 0) for kind, count in every.items()}
    return {kind: count for kind, count in current.items() if count}, sum(every.values())


def count_spaces(tx: Transaction, owner: str) -> dict[str, int]:
    """How many vectors each space has."""
    # Likewise: looking up the owner of each vector takes ten times as long.
    others = _VECTORS.where(memory_vectors.c.memory_id.in_(_OTHERS))
    query = select(memory_spaces.c.name, _VECTORS.scalar_subquery() - others.scalar_subquery())
    return {name: count for name, count in tx.execute(query, {"owner": owner}) if count}


_MARK = Prepared(insert(memory_turns).prefix_with("OR REPLACE"), ["turn_id", "ended_at"])
_THERE = Prepared(select(turns.c.id).where(turns.c.id == bindparam("turn")))


def mark(tx: Transaction, turn: Turn) -> bool:
    """Note that a turn is remembered as it ended; False when it was deleted meanwhile."""
    if turn.ended_at is None or tx.run(_THERE, {"turn": turn.id}) is None:
        return False
    tx.run(_MARK, {"turn_id": turn.id, "ended_at": microseconds(turn.ended_at)})
    return True


_KNOWN = and_(memory_turns.c.turn_id == turns.c.id, memory_turns.c.ended_at == turns.c.ended_at)
_UNREMEMBERED = (
    select(turns)
    .outerjoin(memory_turns, _KNOWN)
    .where(turns.c.ended_at.is_not(None), memory_turns.c.turn_id.is_(None))
    .order_by(turns.c.ended_at, turns.c.id)
    .limit(bindparam("most"))
    .offset(literal_column("0"))
)
_ALL = Prepared(_UNREMEMBERED)
_SOME = Prepared(_UNREMEMBERED.where(among_given(turns.c.id, "ids")))


def unremembered(
    tx: Transaction, *, limit: int, among: Collection[TurnId] | None = None
) -> list[Turn]:
    """Turns that came to rest and are not remembered yet, the oldest first."""
    if among is None:
        rows = tx.all(_ALL, {"most": limit})
    else:
        rows = tx.all(_SOME, {"most": limit, "ids": packed(among)})
    return [turn_of(row) for row in rows]
