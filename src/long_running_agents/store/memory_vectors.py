"""Vectors of memories, kept apart by the space they belong to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, text

from long_running_agents.store.among import among, packed
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import (
    memories,
    memory_spaces,
    memory_vectors,
)
from long_running_agents.store.prepared import Prepared

_PUT = Prepared(insert(memory_vectors).prefix_with("OR REPLACE"), ["space", "memory_id", "vector"])


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


def spaces(tx: Transaction) -> dict[str, int]:
    """How many vectors each space has."""
    query = (
        select(memory_spaces.c.name, func.count(memory_vectors.c.memory_id))
        .outerjoin(memory_vectors, memory_vectors.c.space == memory_spaces.c.id)
        .group_by(memory_spaces.c.name)
    )
    return {row[0]: row[1] for row in tx.execute(query)}


def put(tx: Transaction, space_id: int, vectors: Mapping[int, bytes]) -> None:
    """Write vectors of memories."""
    tx.run_each(
        _PUT,
        [
            {"space": space_id, "memory_id": number, "vector": vector}
            for number, vector in vectors.items()
        ],
    )


# One parameter for all numbers: as many parameters as numbers take longer than the reading.
_SOME = Prepared(
    text(
        "SELECT memory_id, vector FROM memory_vectors WHERE space = :space_"
        " AND memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY memory_id"
    )
)


def some(tx: Transaction, space_id: int, ids: Sequence[int]) -> tuple[list[int], bytes]:
    """The vectors of some memories in the order of their ids; who has none is left out."""
    rows = tx.run_all(_SOME, {"space_": space_id, "ids": packed(ids)})
    return [row[0] for row in rows], b"".join([row[1] for row in rows])


_CHUNK = 20_000


def every(tx: Transaction, space_id: int) -> Iterator[tuple[list[int], bytes]]:
    """All vectors of a space in the order of their memories, a chunk at a time."""
    query = (
        select(memory_vectors.c.memory_id, memory_vectors.c.vector)
        .where(memory_vectors.c.space == space_id)
        .order_by(memory_vectors.c.memory_id)
    )
    # The driver's own cursor: a million rows of the library's take a second more.
    cursor: Any = tx.execute(query).cursor
    while rows := cursor.fetchmany(_CHUNK):
        yield [row[0] for row in rows], b"".join([row[1] for row in rows])


def after(
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


def count(tx: Transaction, space_id: int) -> int:
    """How many vectors a space has."""
    query = select(func.count()).where(memory_vectors.c.space == space_id)
    return tx.execute(query).scalar_one()


def missing(tx: Transaction, space_id: int | None, *, limit: int) -> list[tuple[int, str, str]]:
    """Memories without a vector in a space: number, content, and what was said just before."""
    before = memories.alias()
    query = (
        select(memories.c.id, memories.c.content, func.coalesce(before.c.content, ""))
        .outerjoin(before, before.c.id == memories.c.previous_id)
        .order_by(memories.c.id)
        .limit(limit)
    )
    if space_id is not None:
        has = select(memory_vectors.c.memory_id).where(memory_vectors.c.space == space_id)
        query = query.where(memories.c.id.not_in(has))
    return [(number, content, said) for number, content, said in tx.execute(query)]


def count_missing(tx: Transaction, space_id: int | None) -> int:
    """How many memories have no vector in a space."""
    every_one = tx.execute(select(func.count()).select_from(memories)).scalar_one()
    if space_id is None:
        return every_one
    query = select(func.count()).where(memory_vectors.c.space == bindparam("space_"))
    return every_one - tx.execute(query, {"space_": space_id}).scalar_one()


def drop(tx: Transaction, ids: Sequence[int]) -> None:
    """Delete the vectors of some memories, in every space: they are made again."""
    tx.execute(delete(memory_vectors).where(among(memory_vectors.c.memory_id, ids)))


def drop_other_spaces(tx: Transaction, space_id: int) -> None:
    """Delete every space but one."""
    tx.execute(delete(memory_spaces).where(memory_spaces.c.id != space_id))
