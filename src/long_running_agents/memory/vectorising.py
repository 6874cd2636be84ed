"""Vectorising: the vectors of memories, kept only if they stand for what is stored.

A text takes a while to embed. Who forgets something meanwhile must not find it again in the vector
of what was said next, so what was embedded is compared with what is there before it is kept.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from long_running_agents.domain.memory import Memory, MemoryId
from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory import words
from long_running_agents.memory.embedding.port import Embedder, Vectors
from long_running_agents.store import memory_entries, memory_talk, memory_vectors
from long_running_agents.store.database import Database, Transaction

BATCH = 256
"""Texts that are embedded at a time."""


class Vectorising:
    """Makes vectors as long as there is an embedder that answers."""

    def __init__(self, database: Database, embedder: Embedder | None) -> None:
        self._database = database
        self._embedder = embedder

    async def of(self, texts: Sequence[str]) -> Vectors | None:
        """Vectors of texts; None when there are none to be had now, and they are made later."""
        if self._embedder is None or not texts:
            return None
        try:
            return await self._embedder.documents(texts)
        except EmbedderFailed:
            return None

    def put(
        self,
        tx: Transaction,
        stored: Sequence[Memory],
        texts: Sequence[str],
        vectors: Vectors | None,
    ) -> None:
        """Keep the vectors of memories that were stored in this transaction.

        Args:
            tx: The transaction.
            stored: The memories.
            texts: What was embedded for each.
            vectors: One row for each, or None.
        """
        if vectors is None or self._embedder is None or not stored:
            return
        embedded = {memory.id: text for memory, text in zip(stored, texts, strict=True)}
        plain = all(m.previous is None and m.content == embedded[m.id] for m in stored)
        keep(tx, self._embedder.space, embedded, vectors, sure=plain)

    async def remake(self, ids: Sequence[MemoryId]) -> None:
        """Embed some memories that have lost their vectors; left for later if that fails."""
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            texts = await self._database.read(lambda tx, batch=batch: texts_of(tx, batch))
            vectors = await self.of(list(texts.values()))
            if vectors is None or self._embedder is None:
                return
            kept = partial(keep, space=self._embedder.space, embedded=texts, vectors=vectors)
            await self._database.write(kept)


def texts_of(tx: Transaction, ids: Sequence[int]) -> dict[MemoryId, str]:
    """What the vector of each memory stands for, as far as it is there."""
    return {
        number: words.in_context(before, content)
        for number, (before, content) in memory_talk.with_context(tx, ids).items()
    }


def keep(
    tx: Transaction,
    space: str,
    embedded: Mapping[MemoryId, str],
    vectors: Vectors,
    *,
    sure: bool = False,
) -> int:
    """Store vectors of memories that still say what was embedded; how many.

    Args:
        tx: The transaction.
        space: The space of the vectors.
        embedded: For each memory, what was embedded.
        vectors: One row for each of them.
        sure: Whether they are of this transaction: nothing changed, and that they are new is noted.
    """
    there = embedded if sure else texts_of(tx, list(embedded))
    rows: dict[int, bytes] = {
        number: vector.tobytes()
        for (number, text), vector in zip(embedded.items(), vectors.astype(np.float16), strict=True)
        if there.get(number) == text
    }
    if rows:
        memory_vectors.put(tx, memory_vectors.open_space(tx, space, vectors.shape[1]), rows)
        if not sure:
            memory_entries.note_change(tx, [MemoryId(number) for number in rows])
    return len(rows)
