"""The index of memories: full-text words, packed entries for ranking, and embedding vectors.

An entry is made from its memory alone, in the transaction that writes the memory. Names are
replaced by numbers; a moment is in microseconds since 1970, and NEVER stands for none.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, delete, func, insert, select, text

from long_running_agents.domain.memory import Memory, MemoryId, MemoryKind, MemoryScope
from long_running_agents.store.database import Prepared, Row, Transaction
from long_running_agents.store.sql import among, packed
from long_running_agents.store.tables import (
    memories,
    memory_changes,
    memory_entries,
    memory_names,
    memory_spaces,
    memory_vectors,
    microseconds,
)

NEVER = 2**63 - 1
NOBODY = 0
"""The number of a name that is not there."""

OFF = 1 << 7
"""The bit among the signs that a memory has which is switched off."""

KINDS = tuple(MemoryKind)
SCOPES = tuple(MemoryScope)

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

_ENTRY = struct.Struct("<" + "".join(code for _, code in FIELDS))
_NAMES_OF_FIELDS = [name for name, _ in FIELDS]
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
    entry = _ENTRY.pack(
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


_KNOWN = Prepared(
    select(memory_entries.c.entry).where(memory_entries.c.memory_id == bindparam("number"))
)


def update(tx: Transaction, memory: Memory) -> None:
    """Write the entry of a memory anew whose content is what it was."""
    if (row := tx.run(_KNOWN, {"number": memory.id})) is None:
        # Only a damaged index lacks it; whoever repairs that writes all entries.
        note_change(tx, [memory.id])
        return
    known = dict(zip(_NAMES_OF_FIELDS, _ENTRY.unpack(row[0]), strict=True))
    signs = known["signs"] & ~OFF
    put(tx, memory, Indexed("", known["length"], known["telling"], signs))


def note_change(tx: Transaction, ids: Sequence[MemoryId]) -> None:
    """Write that memories are new, different or gone."""
    if ids:
        tx.run_each(_CHANGED, [{"memory_id": number} for number in ids])


_LATEST = Prepared(select(func.max(memory_changes.c.revision)))


def revision(tx: Transaction) -> int:
    """The number of the latest change."""
    return (tx.run(_LATEST, {}) or (0,))[0] or 0


_SINCE = Prepared(
    select(memory_changes.c.memory_id).where(memory_changes.c.revision > bindparam("after"))
)


def changed(tx: Transaction, after: int) -> list[int]:
    """Which memories changed after another change."""
    return sorted({row[0] for row in tx.run_all(_SINCE, {"after": after})})


_OLDEST = Prepared(select(func.min(memory_changes.c.revision)))


def oldest_change(tx: Transaction) -> int:
    """The first change that is still known."""
    return (tx.run(_OLDEST, {}) or (0,))[0] or 0


def prune(tx: Transaction, kept: int) -> None:
    """Drop all but the latest changes; whoever has not seen them reads everything again."""
    tx.execute(delete(memory_changes).where(memory_changes.c.revision <= revision(tx) - kept))


_CHUNK = 20_000


def every(tx: Transaction) -> Iterator[tuple[list[int], bytes]]:
    """All entries in the order of their memories, a chunk at a time: ids, and entries in a row."""
    query = select(memory_entries.c.memory_id, memory_entries.c.entry)
    yield from _chunks(tx.execute(query.order_by(memory_entries.c.memory_id)).cursor)


_SOME = Prepared(
    text(
        "SELECT memory_id, entry FROM memory_entries"
        " WHERE memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY memory_id"
    )
)


def some(tx: Transaction, ids: Sequence[int]) -> tuple[list[int], bytes]:
    """The entries of some memories, in the order of their ids; those that are gone are left out."""
    return _joined(tx.run_all(_SOME, {"ids": packed(ids)}))


def _joined(rows: Sequence[Row]) -> tuple[list[int], bytes]:
    return [row[0] for row in rows], b"".join([row[1] for row in rows])


def _chunks(cursor: Any) -> Iterator[tuple[list[int], bytes]]:
    # The driver's own cursor: a million rows of the library's take a second more.
    while rows := cursor.fetchmany(_CHUNK):
        yield _joined(rows)


_WITH_WORD = Prepared(
    text(
        "SELECT group_concat(rowid) FROM (SELECT rowid FROM memory_words"
        " WHERE memory_words MATCH :question ORDER BY rowid DESC LIMIT :most)"
    )
)


def having(
    tx: Transaction, forms: Sequence[str], *, most: int, owner: int | None = None
) -> NDArray[np.int64]:
    """The latest memories that have a word in one of its forms."""
    # Quoted, so that nothing in a word is an operator.
    either = " OR ".join('"' + form.replace('"', '""') + '"' for form in forms)
    question = f"words : ({either})"
    if owner is not None:
        question += f' AND owner : "o{owner}"'
    row = tx.run(_WITH_WORD, {"question": question, "most": most})
    # In one text: a row for each of thousands takes longer than finding them.
    return np.fromstring(row[0] if row and row[0] else "", np.int64, sep=",")


def clear(tx: Transaction) -> None:
    """Empty the table."""
    tx.execute(text("DELETE FROM memory_words"))


def tidy(tx: Transaction) -> None:
    """Merge the table's parts; searching many small ones is slower."""
    tx.execute(text("INSERT INTO memory_words (memory_words) VALUES ('optimize')"))


UNMATCHED = (
    "SELECT (SELECT count(*) FROM memories WHERE id NOT IN (SELECT rowid FROM memory_words))"
    " + (SELECT count(*) FROM memory_words WHERE rowid NOT IN (SELECT id FROM memories))"
    " + (SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory_id FROM memory_entries))"
)


def sound(tx: Transaction) -> bool:
    """Whether every memory has its words and no words are left without a memory."""
    return tx.execute(text(UNMATCHED)).scalar_one() == 0


_PUT_VECTOR = Prepared(
    insert(memory_vectors).prefix_with("OR REPLACE"), ["space", "memory_id", "vector"]
)
_SPACE = Prepared(select(memory_spaces.c.id).where(memory_spaces.c.name == bindparam("name_")))


def space(tx: Transaction, name: str) -> int | None:
    """The number of a space; None when nothing was ever put into it."""
    row = tx.run(_SPACE, {"name_": name})
    return None if row is None else int(row[0])


def open_space(tx: Transaction, name: str, dimensions: int) -> int:
    """The number of a space, made now if there is none."""
    if (known := space(tx, name)) is not None:
        return known
    query = insert(memory_spaces).returning(memory_spaces.c.id)
    return tx.execute(query, {"name": name, "dimensions": dimensions}).scalar_one()


def spaces(tx: Transaction) -> set[str]:
    """What the spaces are called."""
    return set(tx.execute(select(memory_spaces.c.name)).scalars())


def put_vectors(tx: Transaction, space_id: int, vectors: Mapping[int, bytes]) -> None:
    """Write vectors of memories."""
    tx.run_each(
        _PUT_VECTOR,
        [
            {"space": space_id, "memory_id": number, "vector": vector}
            for number, vector in vectors.items()
        ],
    )


# One parameter for all numbers: as many parameters as numbers take longer than the reading.
_SOME_VECTORS = Prepared(
    text(
        "SELECT memory_id, vector FROM memory_vectors WHERE space = :space_"
        " AND memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY memory_id"
    )
)


def some_vectors(tx: Transaction, space_id: int, ids: Sequence[int]) -> tuple[list[int], bytes]:
    """The vectors of some memories in the order of their ids; who has none is left out."""
    return _joined(tx.run_all(_SOME_VECTORS, {"space_": space_id, "ids": packed(ids)}))


def every_vector(tx: Transaction, space_id: int) -> Iterator[tuple[list[int], bytes]]:
    """All vectors of a space in the order of their memories, a chunk at a time."""
    query = (
        select(memory_vectors.c.memory_id, memory_vectors.c.vector)
        .where(memory_vectors.c.space == space_id)
        .order_by(memory_vectors.c.memory_id)
    )
    yield from _chunks(tx.execute(query).cursor)


def vectors_after(
    tx: Transaction, space_id: int, number: int, *, limit: int
) -> tuple[list[int], list[bytes]]:
    """The next vectors of a space after a number: ids, and the vector of each."""
    query = (
        select(memory_vectors.c.memory_id, memory_vectors.c.vector)
        .where(memory_vectors.c.space == space_id, memory_vectors.c.memory_id > number)
        .order_by(memory_vectors.c.memory_id)
        .limit(limit)
    )
    rows = tx.execute(query).all()
    return [row.memory_id for row in rows], [row.vector for row in rows]


def count_vectors(tx: Transaction, space_id: int) -> int:
    """How many vectors a space has."""
    query = select(func.count()).where(memory_vectors.c.space == space_id)
    return tx.execute(query).scalar_one()


def missing_vectors(tx: Transaction, space_id: int | None, *, limit: int) -> list[int]:
    """The numbers of memories without a vector in a space."""
    query = select(memories.c.id).order_by(memories.c.id).limit(limit)
    if space_id is not None:
        has = select(memory_vectors.c.memory_id).where(memory_vectors.c.space == space_id)
        query = query.where(memories.c.id.not_in(has))
    return list(tx.execute(query).scalars())


def count_missing(tx: Transaction, space_id: int | None) -> int:
    """How many memories have no vector in a space."""
    every_one = tx.execute(select(func.count()).select_from(memories)).scalar_one()
    return every_one - (0 if space_id is None else count_vectors(tx, space_id))


def drop_vectors(tx: Transaction, ids: Sequence[int]) -> None:
    """Delete the vectors of some memories, in every space: they are made again."""
    tx.execute(delete(memory_vectors).where(among(memory_vectors.c.memory_id, ids)))


def drop_other_spaces(tx: Transaction, space_id: int) -> None:
    """Delete every space but one."""
    tx.execute(delete(memory_spaces).where(memory_spaces.c.id != space_id))
