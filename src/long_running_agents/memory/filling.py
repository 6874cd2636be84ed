"""Filling: vectors for memories that have none yet, a batch at a time.

That is all there is to changing the embedder: memories have no vector in the new space, so they
get one; when none is missing, the old space is dropped. Killed in between, it goes on from there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from long_running_agents.domain.memory import MemoryId
from long_running_agents.memory import words
from long_running_agents.memory.embedding.port import Embedder
from long_running_agents.store import memory_entries, memory_vectors
from long_running_agents.store.database import Database, Transaction

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the filling is."""

    done: int
    left: int


async def fill(
    database: Database, embedder: Embedder, tell: Callable[[Progress], None] = lambda _: None
) -> int:
    """Give every memory its vector; how many were made.

    Raises:
        EmbedderFailed: It went as far as it could.
    """
    done = 0
    left = await database.read(lambda tx: memory_vectors.count_missing(tx, _space(tx, embedder)))
    while left:
        made = await _fill_batch(database, embedder)
        done += made
        left = await database.read(
            lambda tx: memory_vectors.count_missing(tx, _space(tx, embedder))
        )
        tell(Progress(done, left))
        if not made:
            break
    await database.write(lambda tx: _retire(tx, embedder))
    return done


async def _fill_batch(database: Database, embedder: Embedder) -> int:
    rows = await database.read(
        lambda tx: memory_vectors.missing(tx, _space(tx, embedder), limit=_BATCH)
    )
    if not rows:
        return 0
    texts = [words.in_context(before, content) for _, content, before in rows]
    vectors = (await embedder.documents(texts)).astype(np.float16)

    def work(tx: Transaction) -> int:
        space = memory_vectors.open_space(tx, embedder.space, vectors.shape[1])
        found = memory_vectors.still_there(tx, [number for number, _, _ in rows])
        made = {
            number: vector.tobytes()
            for (number, _, _), vector in zip(rows, vectors, strict=True)
            if number in found
        }
        memory_vectors.put(tx, space, made)
        memory_entries.note_change(tx, [MemoryId(number) for number in made])
        return len(made)

    return await database.write(work)


def _space(tx: Transaction, embedder: Embedder) -> int | None:
    return memory_vectors.space(tx, embedder.space)


def _retire(tx: Transaction, embedder: Embedder) -> None:
    """Drop other spaces once this one has everything."""
    space = _space(tx, embedder)
    if space is not None and not memory_vectors.count_missing(tx, space):
        memory_vectors.drop_other_spaces(tx, space)
