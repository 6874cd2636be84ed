"""The vector arm: the memories nearest in meaning, without looking at every vector.

The signs of all vectors are held in memory, one bit each. Counting the bits in which two vectors
differ ranks them roughly; the best few hundred are then compared exactly, with their vectors from
the database.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from long_running_agents.memory.embedding.port import Vectors
from long_running_agents.memory.ranking import Mask, Scores
from long_running_agents.memory.shelf import Shelf, Slots, packed_signs
from long_running_agents.store import memory_vectors
from long_running_agents.store.database import Transaction

_COMPARED = 400
_RETURNED = 80


@dataclass(frozen=True, slots=True)
class Near:
    """Slots near in meaning and how near, from 0 to 1."""

    slots: Slots
    nearness: Scores
    similarity: Scores
    """The cosine itself."""


def nearest(tx: Transaction, shelf: Shelf, space: int, question: Vectors, eligible: Mask) -> Near:
    """The memories nearest to a question among the eligible ones."""
    slots = np.flatnonzero(eligible & shelf.embedded)
    if not len(slots) or not question.any():
        return Near(slots[:0], np.empty(0, np.float32), np.empty(0, np.float32))
    signs = packed_signs(question.astype(np.float16)[None, :])[0]
    whole = len(slots) == len(shelf)
    differing = _differing(shelf.bits if whole else shelf.bits[slots], signs)
    usual = float(np.cos(np.pi * differing.mean() / len(question)))
    if len(slots) > _COMPARED:
        slots = slots[np.argpartition(differing, _COMPARED)[:_COMPARED]]
    slots, similarity = compared(tx, shelf, space, question, np.sort(slots))
    best = np.argsort(-similarity, kind="stable")[:_RETURNED]
    slots, similarity = slots[best], similarity[best]
    spread = max(float(similarity.max(initial=usual)) - usual, 1e-9)
    nearness = np.clip((similarity - usual) / spread, 0, 1).astype(np.float32)
    return Near(slots, nearness, similarity)


def _differing(bits: NDArray[np.uint64], signs: NDArray[np.uint64]) -> NDArray[np.uint16]:
    # A word at a time: one pass over a column each, and nothing of the whole size in between.
    total = np.zeros(len(bits), np.uint16)
    for word in range(bits.shape[1]):
        total += np.bitwise_count(bits[:, word] ^ signs[word])
    return total


def compared(
    tx: Transaction, shelf: Shelf, space: int, question: Vectors, slots: Slots
) -> tuple[Slots, Scores]:
    """The exact similarity of a few slots; one whose vector is gone is left out."""
    stored = memory_vectors.of(tx, space, shelf.ids[slots].tolist())
    there = np.array([number in stored for number in shelf.ids[slots].tolist()], np.bool_)
    slots = slots[there]
    blob = b"".join(stored[number] for number in shelf.ids[slots].tolist())
    vectors = np.frombuffer(blob, np.float16).reshape(len(slots), -1).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1)
    return slots, (vectors @ question) / np.where(lengths > 0, lengths, 1)
