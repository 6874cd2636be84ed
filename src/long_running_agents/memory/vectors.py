"""Vector search and the making of vectors: the nearest without looking at every vector.

The signs of all vectors are held in memory, one bit each. Counting the bits in which two vectors
differ ranks them roughly. The best few hundred are ranked again by what those signs make of the
question's own numbers, and the best of these are compared exactly, with their vectors from the
arrays, or from the database where there are too many to hold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from long_running_agents.domain.memory import Memory, MemoryId
from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory import words
from long_running_agents.memory.arrays import MemoryArrays, Slots, packed_signs
from long_running_agents.memory.embedding.base import Embedder, Vectors
from long_running_agents.memory.ranking import Mask, Scores, best
from long_running_agents.store import memory_index, memory_lineage
from long_running_agents.store.database import Database, Transaction

_ROUGHLY = 400
_EXACTLY = 160
_RETURNED = 80
_BLOCK = 1 << 15
"""So many at a time stay in the processor's own memory."""
_SAMPLED = 4096
_STRANGERS = 20


@dataclass(frozen=True, slots=True)
class Near:
    """Slots near in meaning and how near, from 0 to 1."""

    slots: Slots
    nearness: Scores
    similarity: Scores
    """The cosine itself."""


def nothing() -> Near:
    """No memory is near."""
    return Near(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32))


def measured(
    tx: Transaction,
    arrays: MemoryArrays,
    space: int,
    question: Vectors,
    slots: Slots,
    others: Slots,
) -> Near:
    """Slots that another index found, compared exactly and measured against what is usual."""
    sample = others[:: max(1, len(others) // _SAMPLED)]
    differing = _differing(arrays.bits[:, sample], _signs(question))
    usual = float(np.cos(np.pi * _usual(differing, len(question))))
    return _measured(tx, arrays, space, question, np.sort(slots), usual)


def _measured(
    tx: Transaction, arrays: MemoryArrays, space: int, question: Vectors, slots: Slots, usual: float
) -> Near:
    slots, similarity = _compared(tx, arrays, space, question, slots)
    order = np.argsort(-similarity, kind="stable")[:_RETURNED]
    slots, similarity = slots[order], similarity[order]
    spread = max(float(similarity.max(initial=usual)) - usual, 1e-9)
    nearness = np.clip((similarity - usual) / spread, 0, 1).astype(np.float32)
    return Near(slots, nearness, similarity)


def _differing(bits: NDArray[np.uint64], signs: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many bits each vector differs from a question."""
    total = np.zeros(bits.shape[1], np.uint16)
    for start in range(0, len(total), _BLOCK):
        block = slice(start, start + _BLOCK)
        for row, sign in zip(bits, signs, strict=True):
            total[block] += np.bitwise_count(row[block] ^ sign)
    return total


def _signs(question: Vectors) -> NDArray[np.uint64]:
    return packed_signs(question.astype(np.float16)[None, :])[0]


def _usual(differing: NDArray[np.uint16], dimensions: int) -> float:
    """The share of bits in which most of some vectors differ."""
    # What is usual cannot be told from two or three: strangers differ in half of the bits.
    total = float(differing.sum()) + _STRANGERS * dimensions / 2
    return total / (len(differing) + _STRANGERS) / dimensions


def _least(differing: NDArray[np.uint16], among: Mask, count: int, most: int) -> Slots:
    """The slots that differ least; of those that differ alike, the first."""
    if count <= _ROUGHLY:
        return np.flatnonzero(among)
    # There are few different counts, so the limit is found faster by halving than by sorting.
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if np.count_nonzero((differing <= middle) & among) >= _ROUGHLY:
            high = middle
        else:
            low = middle + 1
    below = np.flatnonzero((differing < low) & among)
    level = np.flatnonzero((differing == low) & among)[: _ROUGHLY - len(below)]
    return np.sort(np.concatenate([below, level]))


def _leaning(arrays: MemoryArrays, question: Vectors, slots: Slots) -> Slots:
    """Those whose signs agree where the question is strong, not only in many places."""
    if len(slots) <= _EXACTLY:
        return slots
    packed = np.ascontiguousarray(arrays.bits[:, slots].T).view(np.uint8)
    signs = np.unpackbits(packed, axis=1)[:, : len(question)].astype(np.float32)
    return slots[best(signs @ question, _EXACTLY)]


def _compared(
    tx: Transaction, arrays: MemoryArrays, space: int, question: Vectors, slots: Slots
) -> tuple[Slots, Scores]:
    """The exact similarity of a few slots; one whose vector is gone is left out."""
    if arrays.vectors is not None:
        slots = slots[arrays.embedded[slots]]
        vectors = arrays.vectors[slots].astype(np.float32)
    else:
        ids, blob = memory_index.some_vectors(tx, space, arrays.ids[slots].tolist())
        slots = arrays.slots(ids)
        vectors = np.frombuffer(blob, np.float16).reshape(len(ids), -1).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1)
    return slots, (vectors @ question) / np.where(lengths > 0, lengths, 1)


class VectorIndex:
    """Finds memories near in meaning, and only among those that may be seen.

    This one, the built-in, keeps nothing of its own: it reads the arrays and the database.
    """

    def nearest(
        self, tx: Transaction, arrays: MemoryArrays, space: int, question: Vectors, eligible: Mask
    ) -> Near:
        """The memories nearest to a question among the eligible ones, as of a transaction."""
        among = eligible & arrays.embedded
        count = int(np.count_nonzero(among))
        if not count or not question.any():
            return nothing()
        differing = _differing(arrays.bits, _signs(question))
        step = max(1, len(differing) // _SAMPLED)
        usual = float(np.cos(np.pi * _usual(differing[::step][among[::step]], len(question))))
        slots = _least(differing, among, count, len(question))
        return _measured(tx, arrays, space, question, _leaning(arrays, question, slots), usual)

    async def follow(self, database: Database, space: str) -> None:
        """Bring what is kept outside the database up to date with it."""


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
        """Keep the vectors of memories that were stored in this transaction."""
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
        for number, (before, content) in memory_lineage.with_context(tx, ids).items()
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

    ``sure`` says that they are of this transaction: nothing changed, and all are noted as new.
    """
    there = embedded if sure else texts_of(tx, list(embedded))
    rows: dict[int, bytes] = {
        number: vector.tobytes()
        for (number, text), vector in zip(embedded.items(), vectors.astype(np.float16), strict=True)
        if there.get(number) == text
    }
    if rows:
        memory_index.put_vectors(tx, memory_index.open_space(tx, space, vectors.shape[1]), rows)
        if not sure:
            memory_index.note_change(tx, [MemoryId(number) for number in rows])
    return len(rows)


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
        left = await database.read(lambda tx: memory_index.count_missing(tx, _space(tx, embedder)))
        tell(Progress(done, left))
    if await database.read(lambda tx: _outlived(tx, embedder)):
        await database.write(lambda tx: _retire(tx, embedder))
    return done


def _missing(tx: Transaction, embedder: Embedder) -> dict[MemoryId, str]:
    return texts_of(tx, memory_index.missing_vectors(tx, _space(tx, embedder), limit=BATCH))


def _space(tx: Transaction, embedder: Embedder) -> int | None:
    return memory_index.space(tx, embedder.space)


def _outlived(tx: Transaction, embedder: Embedder) -> bool:
    """Whether there are other spaces that this one has replaced."""
    space = _space(tx, embedder)
    others = memory_index.spaces(tx) - {embedder.space}
    return bool(others) and space is not None and not memory_index.count_missing(tx, space)


def _retire(tx: Transaction, embedder: Embedder) -> None:
    """Drop other spaces once this one has everything."""
    space = _space(tx, embedder)
    if space is not None and _outlived(tx, embedder):
        memory_index.drop_other_spaces(tx, space)
