"""Filling: vectors for memories that have none yet, a batch at a time.

That is all there is to changing the embedder: memories have no vector in the new space, so they
get one; when none is missing, the old space is dropped. Killed in between, it goes on from there.
"""

from collections.abc import Callable
from dataclasses import dataclass

from long_running_agents.domain.memory import MemoryId
from long_running_agents.memory import words
from long_running_agents.memory.embedding.port import Embedder
from long_running_agents.memory.vectorising import BATCH, keep
from long_running_agents.store import memory_vectors
from long_running_agents.store.database import Database, Transaction


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
    while texts := await database.read(lambda tx: _missing(tx, embedder)):
        vectors = await embedder.documents(list(texts.values()))
        # One that was forgotten or changed meanwhile is left out; the next round sees what is left.
        done += await database.write(
            lambda tx, texts=texts, vectors=vectors: keep(tx, embedder.space, texts, vectors)
        )
        left = await database.read(
            lambda tx: memory_vectors.count_missing(tx, _space(tx, embedder))
        )
        tell(Progress(done, left))
    if await database.read(lambda tx: _outlived(tx, embedder)):
        await database.write(lambda tx: _retire(tx, embedder))
    return done


def _missing(tx: Transaction, embedder: Embedder) -> dict[MemoryId, str]:
    rows = memory_vectors.missing(tx, _space(tx, embedder), limit=BATCH)
    return {MemoryId(row[0]): words.in_context(row[2], row[1]) for row in rows}


def _space(tx: Transaction, embedder: Embedder) -> int | None:
    return memory_vectors.space(tx, embedder.space)


def _outlived(tx: Transaction, embedder: Embedder) -> bool:
    """Whether there are other spaces that this one has replaced."""
    space = _space(tx, embedder)
    others = set(memory_vectors.spaces(tx)) - {embedder.space}
    return bool(others) and space is not None and not memory_vectors.count_missing(tx, space)


def _retire(tx: Transaction, embedder: Embedder) -> None:
    """Drop other spaces once this one has everything."""
    space = _space(tx, embedder)
    if space is not None and _outlived(tx, embedder):
        memory_vectors.drop_other_spaces(tx, space)
