"""The vector arm: the memories nearest in meaning, without looking at every vector.

The signs of all vectors are held in memory, one bit each. Counting the bits in which two vectors
differ ranks them roughly. The best few hundred are ranked again by what those signs make of the
question's own numbers, and the best of these are compared exactly, with their vectors from the
shelf, or from the database where there are too many to hold.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from long_running_agents.memory.embedding.port import Vectors
from long_running_agents.memory.ranking import Mask, Scores, best
from long_running_agents.memory.shelf import Shelf, Slots, packed_signs
from long_running_agents.store import memory_vectors
from long_running_agents.store.database import Transaction

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


def nearest(tx: Transaction, shelf: Shelf, space: int, question: Vectors, eligible: Mask) -> Near:
    """The memories nearest to a question among the eligible ones."""
    among = eligible & shelf.embedded
    count = int(np.count_nonzero(among))
    if not count or not question.any():
        return nothing()
    differing = _differing(shelf.bits, _signs(question))
    step = max(1, len(differing) // _SAMPLED)
    usual = float(np.cos(np.pi * _usual(differing[::step][among[::step]], len(question))))
    slots = _least(differing, among, count, len(question))
    return _measured(tx, shelf, space, question, _leaning(shelf, question, slots), usual)


def measured(
    tx: Transaction, shelf: Shelf, space: int, question: Vectors, slots: Slots, others: Slots
) -> Near:
    """Slots that another index found, compared exactly and measured against what is usual."""
    sample = others[:: max(1, len(others) // _SAMPLED)]
    differing = _differing(shelf.bits[:, sample], _signs(question))
    usual = float(np.cos(np.pi * _usual(differing, len(question))))
    return _measured(tx, shelf, space, question, np.sort(slots), usual)


def _measured(
    tx: Transaction, shelf: Shelf, space: int, question: Vectors, slots: Slots, usual: float
) -> Near:
    slots, similarity = _compared(tx, shelf, space, question, slots)
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


def _leaning(shelf: Shelf, question: Vectors, slots: Slots) -> Slots:
    """Those whose signs agree where the question is strong, not only in many places."""
    if len(slots) <= _EXACTLY:
        return slots
    packed = np.ascontiguousarray(shelf.bits[:, slots].T).view(np.uint8)
    signs = np.unpackbits(packed, axis=1)[:, : len(question)].astype(np.float32)
    return slots[best(signs @ question, _EXACTLY)]


def _compared(
    tx: Transaction, shelf: Shelf, space: int, question: Vectors, slots: Slots
) -> tuple[Slots, Scores]:
    """The exact similarity of a few slots; one whose vector is gone is left out."""
    if shelf.vectors is not None:
        slots = slots[shelf.embedded[slots]]
        vectors = shelf.vectors[slots].astype(np.float32)
    else:
        ids, blob = memory_vectors.some(tx, space, shelf.ids[slots].tolist())
        slots = shelf.slots(ids)
        vectors = np.frombuffer(blob, np.float16).reshape(len(ids), -1).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1)
    return slots, (vectors @ question) / np.where(lengths > 0, lengths, 1)
