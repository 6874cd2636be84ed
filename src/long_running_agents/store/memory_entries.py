"""Entries: what ranking needs of a memory, packed so that a million are read in a second.

An entry is made from its memory alone, in the transaction that writes the memory. Names are
replaced by numbers; a moment is in microseconds since 1970, and NEVER stands for none.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, text

from long_running_agents.domain.memory import Kind, Memory, MemoryId, Scope
from long_running_agents.store.among import packed
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memory_changes, memory_entries, memory_names
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds

NEVER = 2**63 - 1
NOBODY = 0
"""The number of a name that is not there."""

OFF = 1 << 7
"""The bit among the signs that a memory has which is switched off."""

KINDS = tuple(Kind)
SCOPES = tuple(Scope)

FIELDS = (
    ("previous", "q"),
    ("owner", "i"),
    ("agent", "i"),
    ("session", "i"),
    ("actor", "i"),
    ("kind", "B"),
    ("scope", "B"),
    ("trust", "B"),
    ("signs", "B"),
    ("length", "H"),
    ("telling", "f"),
    ("event", "q"),
    ("recorded", "q"),
    ("valid_to", "q"),
    ("expires", "q"),
)
"""The names and struct codes of an entry's fields, little-endian and without gaps."""

_PACK = struct.Struct("<" + "".join(code for _, code in FIELDS)).pack
_LONGEST = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Indexed:
    """What the index knows of a memory's content."""

    words: str
    """The content as the full-text table takes it."""
    length: int
    """How many words it has."""
    telling: float
    """How much it is likely to tell."""
    signs: int = 0
    """What is in it that questions ask for, as bits; the highest is not theirs."""


Indexing = Callable[[str], Indexed]
"""Makes of a content what the index knows of it."""


_NAME_CODE = Prepared(select(memory_names.c.code).where(memory_names.c.name == bindparam("name_")))
_PUT = Prepared(insert(memory_entries).prefix_with("OR REPLACE"), ["memory_id", "entry"])
_CHANGED = Prepared(insert(memory_changes), ["memory_id"])


def code(tx: Transaction, name: str | None) -> int:
    """The number of a name, given now if it has none."""
    if name is None:
        return NOBODY
    if (row := tx.run(_NAME_CODE, {"name_": name})) is not None:
        return int(row[0])
    query = insert(memory_names).returning(memory_names.c.code)
    return int(tx.execute(query, {"name": name}).scalar_one())


_NAMES = Prepared(
    select(memory_names.c.name, memory_names.c.code).where(memory_names.c.code > bindparam("after"))
)


def names(tx: Transaction, after: int = 0) -> dict[str, int]:
    """Names and their numbers, those given after a number."""
    return dict(tx.run_all(_NAMES, {"after": after}))


def put(tx: Transaction, memory: Memory, indexed: Indexed) -> None:
    """Write the entry of a memory, and that it changed."""
    entry = _PACK(
        memory.previous or 0,
        code(tx, memory.owner),
        code(tx, memory.agent),
        code(tx, memory.session_id),
        code(tx, memory.actor.lower()),
        KINDS.index(memory.kind),
        SCOPES.index(memory.scope),
        memory.trust.rank,
        indexed.signs if memory.enabled else indexed.signs | OFF,
        min(indexed.length, _LONGEST),
        indexed.telling,
        microseconds(memory.event_at),
        microseconds(memory.recorded_at),
        NEVER if memory.valid_to is None else microseconds(memory.valid_to),
        NEVER if memory.expires_at is None else microseconds(memory.expires_at),
    )
    tx.run(_PUT, {"memory_id": memory.id, "entry": entry})
    note_change(tx, [memory.id])


def note_change(tx: Transaction, ids: Sequence[MemoryId]) -> None:
    """Write that memories are new, different or gone."""
    if ids:
        tx.run_each(_CHANGED, [{"memory_id": number} for number in ids])


_LATEST = Prepared(select(func.max(memory_changes.c.revision)))


def revision(tx: Transaction) -> int:
    """The number of the latest change."""
    row = tx.run(_LATEST, {})
    return row[0] or 0 if row else 0


_SINCE = Prepared(
    select(memory_changes.c.memory_id).where(memory_changes.c.revision > bindparam("after"))
)


def changed(tx: Transaction, after: int) -> list[int]:
    """Which memories changed after another change."""
    return sorted({row[0] for row in tx.run_all(_SINCE, {"after": after})})


_OLDEST = Prepared(select(func.min(memory_changes.c.revision)))


def oldest_change(tx: Transaction) -> int:
    """The first change that is still known."""
    row = tx.run(_OLDEST, {})
    return row[0] or 0 if row else 0


def prune(tx: Transaction, kept: int) -> None:
    """Drop all but the latest changes; whoever has not seen them reads everything again."""
    tx.execute(delete(memory_changes).where(memory_changes.c.revision <= revision(tx) - kept))


_CHUNK = 20_000


def every(tx: Transaction) -> Iterator[tuple[list[int], bytes]]:
    """All entries in the order of their memories, a chunk at a time: ids, and entries in a row."""
    cursor = tx.execute(
        select(memory_entries.c.memory_id, memory_entries.c.entry).order_by(
            memory_entries.c.memory_id
        )
    ).cursor
    yield from _chunks(cursor)


_SOME = Prepared(
    text(
        "SELECT memory_id, entry FROM memory_entries"
        " WHERE memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY memory_id"
    )
)


def some(tx: Transaction, ids: Sequence[int]) -> tuple[list[int], bytes]:
    """The entries of some memories, in the order of their ids; those that are gone are left out."""
    rows = tx.run_all(_SOME, {"ids": packed(ids)})
    return [row[0] for row in rows], b"".join([row[1] for row in rows])


def _chunks(cursor: Any) -> Iterator[tuple[list[int], bytes]]:
    while rows := cursor.fetchmany(_CHUNK):
        yield [row[0] for row in rows], b"".join([row[1] for row in rows])
