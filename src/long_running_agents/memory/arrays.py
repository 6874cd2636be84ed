"""The arrays: what ranking needs of every memory, side by side in memory.

They are a cache. They are read once from the entries and vectors in the database, then follow their
changes; a search first brings them up to what its own transaction sees. A slot is a memory's place
in the arrays. Slots are in the order of the memories' numbers, and are only ever added: a memory
that is gone leaves a slot that nobody may see.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from long_running_agents.store import memory_index
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_index import FIELDS

Slots: TypeAlias = NDArray[np.int64]
Bits: TypeAlias = NDArray[np.uint64]

ENTRY = np.dtype([(name, f"<{code}") for name, code in FIELDS])
DAY = 86_400_000_000
"""A day in microseconds."""
EPOCH = 719_163
"""1 January 1970, in days of the calendar."""

_NOWHERE = -1
_GROWTH = 1.5
_MOST_GONE = 0.2
_MOST_HELD = 200_000
"""With more memories than this their vectors stay in the database: they would fill the memory."""
_MOST_CHANGES = 10_000
"""More changes than this at once, and reading everything again is faster."""


@dataclass(frozen=True, slots=True)
class MemoryArrays:
    """The arrays as one search sees them, each with a place for every slot."""

    revision: int
    ids: Slots
    entries: Mapping[str, NDArray[Any]]
    """The fields of the entries, each in an array of its own: most questions are about one."""
    days: NDArray[np.int32]
    """When it happened, in days of the calendar."""
    before: NDArray[np.int32]
    """The slot of what was said just before, or -1."""
    after: NDArray[np.int32]
    """The slot of what was said just after, or -1."""
    bits: Bits
    """The signs of each vector, 64 to a word; a row for each word."""
    embedded: NDArray[np.bool_]
    gone: NDArray[np.bool_]
    names: Mapping[str, int]
    actors: frozenset[int]
    """The numbers of all names that are an actor's."""
    vectors: NDArray[np.float16] | None = None
    """The vectors themselves, as long as there are not too many; a row for each slot."""

    def __len__(self) -> int:
        return len(self.ids)

    def slots(self, ids: Sequence[int] | Slots) -> Slots:
        """The slots of memories, as far as they are there."""
        return _places(self.ids, np.asarray(ids, np.int64))


class MemoryArrayCache:
    """Keeps the arrays of one database and one space."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._space: int | None = None
        self._words = 0
        self._clear()

    def _clear(self) -> None:
        self._revision = 0
        self._count = 0
        self._ids = np.empty(0, np.int64)
        self._entries = {name: np.empty(0, ENTRY[name]) for name in ENTRY.names or ()}
        self._days = np.empty(0, np.int32)
        self._before = np.empty(0, np.int32)
        self._after = np.empty(0, np.int32)
        self._bits = np.empty((self._words, 0), np.uint64)
        self._embedded = np.empty(0, np.bool_)
        self._vectors: NDArray[np.float16] | None = None
        self._gone = np.empty(0, np.bool_)
        self._names: dict[str, int] = {}
        self._last_name = 0
        self._actors = frozenset[int]()

    def alone(self) -> AbstractContextManager[bool]:
        """Keep others from the arrays while inside.

        A transaction sees the database as it is at its first read. Whoever reads first in here
        never sees less than the arrays have, and need not make them again for an older view.
        """
        return self._lock

    def current(self, tx: Transaction, space: int | None, dimensions: int) -> MemoryArrays:
        """The arrays as of a transaction, for the vectors of one space."""
        with self._lock:
            words = 0 if space is None else -(-dimensions // 64)
            if space != self._space or words != self._words:
                self._space, self._words = space, words
                self._clear()
            self._catch_up(tx)
            return self._view()

    def _view(self) -> MemoryArrays:
        count = self._count
        return MemoryArrays(
            revision=self._revision,
            ids=self._ids[:count],
            entries={name: column[:count] for name, column in self._entries.items()},
            days=self._days[:count],
            before=self._before[:count],
            after=self._after[:count],
            bits=self._bits[:, :count],
            embedded=self._embedded[:count],
            vectors=None if self._vectors is None else self._vectors[:count],
            gone=self._gone[:count],
            names=self._names,
            actors=self._actors,
        )

    def _catch_up(self, tx: Transaction) -> None:
        latest = memory_index.revision(tx)
        if latest == self._revision:
            return
        known = memory_index.oldest_change(tx) <= self._revision + 1
        near = 0 < latest - self._revision <= _MOST_CHANGES and self._revision > 0
        if not (known and near and self._read_changes(tx)) or self._mostly_gone():
            self._clear()
            self._read_everything(tx)
        self._learn_names(tx)
        self._revision = latest

    def _mostly_gone(self) -> bool:
        return self._count > 0 and self._gone[: self._count].mean() > _MOST_GONE

    def _read_everything(self, tx: Transaction) -> None:
        for ids, packed in memory_index.every(tx):
            self._append(np.asarray(ids, np.int64), np.frombuffer(packed, ENTRY))
        if self._space is not None:
            for ids, vectors in memory_index.every_vector(tx, self._space):
                self._put_vectors(ids, vectors)

    def _read_changes(self, tx: Transaction) -> bool:
        """Follow the changes since the last time; False when one does not fit in."""
        changed = memory_index.changed(tx, self._revision)
        ids, packed = memory_index.some(tx, changed)
        found, entries = np.asarray(ids, np.int64), np.frombuffer(packed, ENTRY)
        lost = self._places(np.setdiff1d(changed, found))
        old = found <= (self._ids[self._count - 1] if self._count else 0)
        places = self._places(found[old])
        if len(places) < np.count_nonzero(old):
            # A forgotten memory came back, and its slot was given up.
            return False
        rewoven = len(lost) > 0 or bool(self._gone[places].any())
        self._gone[lost] = True
        self._gone[places] = False
        self._fill(places, entries[old])
        self._embedded[places] = False
        self._append(found[~old], entries[~old])
        if rewoven:
            self._link_again()
        if self._space is not None:
            self._put_vectors(*memory_index.some_vectors(tx, self._space, ids))
        return True

    def _places(self, ids: Slots) -> Slots:
        return _places(self._ids[: self._count], ids)

    def _append(self, ids: Slots, entries: NDArray[Any]) -> None:
        if not len(ids):
            return
        first, last = self._count, self._count + len(ids)
        self._reserve(last)
        self._ids[first:last] = ids
        self._fill(slice(first, last), entries)
        self._before[first:last] = _NOWHERE
        self._after[first:last] = _NOWHERE
        self._embedded[first:last] = False
        self._gone[first:last] = False
        self._actors |= frozenset(entries["actor"].tolist())
        self._count = last
        self._link(np.arange(first, last))

    def _fill(self, places: Slots | slice, entries: NDArray[Any]) -> None:
        for name, column in self._entries.items():
            column[places] = entries[name]
        self._days[places] = entries["event"] // DAY + EPOCH

    def _link(self, slots: Slots) -> None:
        """Let each slot know the one before it, and that one know it in turn."""
        previous = self._entries["previous"][slots]
        slots, previous = slots[previous > 0], previous[previous > 0]
        known = self._ids[: self._count]
        places = np.minimum(np.searchsorted(known, previous), self._count - 1)
        there = (known[places] == previous) & ~self._gone[places]
        self._before[slots[there]] = places[there]
        # A new row: a search under way has the old one, in which no slot leads beyond its arrays.
        self._after = self._after.copy()
        self._after[places[there]] = slots[there]

    def _link_again(self) -> None:
        """Link all slots anew; a search that has the old links keeps them."""
        self._before = np.full(len(self._ids), _NOWHERE, np.int32)
        self._after = np.full(len(self._ids), _NOWHERE, np.int32)
        self._link(np.flatnonzero(~self._gone[: self._count]))

    def _put_vectors(self, numbers: Sequence[int], blob: bytes) -> None:
        if not numbers:
            return
        ids = np.asarray(numbers, np.int64)
        vectors = np.frombuffer(blob, np.float16).reshape(len(ids), -1)
        slots = self._places(ids)
        if len(slots) < len(ids):
            vectors = vectors[np.isin(ids, self._ids[slots], assume_unique=True)]
        self._bits[:, slots] = packed_signs(vectors).T
        self._hold(slots, vectors)
        self._embedded[slots] = True

    def _hold(self, slots: Slots, vectors: NDArray[np.float16]) -> None:
        room = len(self._ids)
        if self._count > _MOST_HELD:
            self._vectors = None
            return
        if self._vectors is None or len(self._vectors) < room:
            larger = np.zeros((room, vectors.shape[1]), np.float16)
            if self._vectors is not None:
                larger[: len(self._vectors)] = self._vectors
            self._vectors = larger
        self._vectors[slots] = vectors

    def _learn_names(self, tx: Transaction) -> None:
        if fresh := memory_index.names(tx, self._last_name):
            # A new table: a search that has the old one keeps reading it.
            self._names = {**self._names, **fresh}
            self._last_name = max(fresh.values())

    def _reserve(self, count: int) -> None:
        if count <= len(self._ids):
            return
        room = max(count, int(len(self._ids) * _GROWTH), 1024)
        self._ids = _grown(self._ids, room)
        self._entries = {name: _grown(column, room) for name, column in self._entries.items()}
        self._days = _grown(self._days, room)
        self._before = _grown(self._before, room)
        self._after = _grown(self._after, room)
        self._bits = np.ascontiguousarray(_grown(self._bits.T, room).T)
        self._embedded = _grown(self._embedded, room)
        self._gone = _grown(self._gone, room)


def _places(known: Slots, wanted: Slots) -> Slots:
    """Where numbers are in a growing row of them; those that are not there are left out."""
    if len(known) and known[-1] - known[0] == len(known) - 1:
        # No number is missing, as long as nothing was forgotten.
        places = wanted - known[0]
        return places[(places >= 0) & (places < len(known))]
    places = np.searchsorted(known, wanted)
    inside = places < len(known)
    places, wanted = places[inside], wanted[inside]
    return places[known[places] == wanted]


def _grown(array: NDArray[Any], room: int) -> NDArray[Any]:
    larger = np.zeros((room, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def packed_signs(vectors: NDArray[np.float16]) -> Bits:
    """The signs of vectors, 64 to a word."""
    # As whole numbers, which are compared many times faster; the sign is the same bit.
    signs = np.packbits(vectors.view(np.int16) > 0, axis=-1)
    if short := -signs.shape[-1] % 8:
        signs = np.pad(signs, [(0, 0)] * (signs.ndim - 1) + [(0, short)])
    return np.ascontiguousarray(signs).view(np.uint64)
