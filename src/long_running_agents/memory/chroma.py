"""ChromaDB as a vector index: a cache of the vectors in the database, and of nothing else.

There is one collection for each space. It notes how far it has followed the changes of the
database; one that cannot have, or that holds something else, is made anew. No text is in it. What
it finds is compared again with the vectors in the database, and what the asker may not see is
left out. While it is behind, the built-in index answers.
"""

import importlib
import logging
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from long_running_agents.errors import ConfigError
from long_running_agents.memory.arrays import ENTRY, MemoryArrays, Slots
from long_running_agents.memory.embedding.base import Vectors
from long_running_agents.memory.ranking import Mask
from long_running_agents.memory.vectors import Near, VectorIndex, measured
from long_running_agents.store import memory_index
from long_running_agents.store.database import Database, Transaction

_EXTRA = "pip install 'long-running-agents[chroma]'"
_PREFIX = "lra-memory-"
_REVISION = "revision"
_FILLED = "filled"
_COMPLETE = -1
_SLICE = 1000
"""Vectors that are copied at a time."""
_MOST_INLINE = 500
"""Changes that a search follows by itself; more are left to whoever fills in the vectors."""
_MOST_CHANGES = 10_000
_RETURNED = 80
_CHECKED = 8

_log = logging.getLogger(__name__)


def chosen_index(path: str) -> VectorIndex:
    """The index that a setting asks for: ChromaDB in a folder, or the built-in one without any."""
    return ChromaIndex(Path(path).expanduser()) if path else VectorIndex()


class ChromaIndex(VectorIndex):
    """Finds memories near in meaning with ChromaDB. One process uses a folder at a time.

    Raises:
        ConfigError: ChromaDB is not installed.
    """

    def __init__(self, folder: Path) -> None:
        if find_spec("chromadb") is None:
            raise ConfigError(
                "storage.vector_store_path is set, but ChromaDB is not installed.",
                hint=f"Run {_EXTRA}, or take the setting away: there is an index without it.",
            )
        self._folder = folder
        self._lock = threading.Lock()
        self._client: Any = None
        self._collection: Any = None
        self._space: int | None = None
        self._revision = 0
        self._filled = 0
        self._matches = False
        """Whether it was compared with the database since it was opened."""
        self._broken = False

    @override
    def nearest(
        self, tx: Transaction, arrays: MemoryArrays, space: int, question: Vectors, eligible: Mask
    ) -> Near:
        slots = np.flatnonzero(eligible & arrays.embedded)
        if len(slots) and question.any():
            # Held while the collection is asked, too: a slice may be on its way into it.
            with self._lock:
                found = self._asked(tx, arrays, space, question, eligible)
            if found is not None:
                return measured(tx, arrays, space, question, found, slots)
        return super().nearest(tx, arrays, space, question, eligible)

    @override
    async def follow(self, database: Database, space: str) -> None:
        """Copy what is new, a slice at a time; searches go on meanwhile."""
        while await database.read(lambda tx: self._advance(tx, space)):
            pass

    def _asked(
        self, tx: Transaction, arrays: MemoryArrays, space: int, question: Vectors, eligible: Mask
    ) -> Slots | None:
        """The nearest eligible slots; None when the collection cannot be asked now."""
        if self._broken:
            return None
        failure = _chroma_error()
        try:
            if not self._current(tx, space):
                return None
            return self._ask(arrays, question, eligible)
        except failure as error:
            self._give_up(error)
            return None

    def _ask(self, arrays: MemoryArrays, question: Vectors, eligible: Mask) -> Slots | None:
        candidates = np.flatnonzero(eligible & arrays.embedded)
        owners = arrays.entries["owner"]
        owner = int(owners[candidates[0]])
        # ChromaDB reads every row for a filter, so there is none in a home of one owner.
        alone = bool((owners[arrays.embedded] == owner).all())
        wanted, total = min(_RETURNED, len(candidates)), int(np.count_nonzero(arrays.embedded))
        most = min(2 * _RETURNED, total)
        while most:
            answer = self._collection.query(
                query_embeddings=question[None, :],
                n_results=most,
                where=None if alone else {"owner": owner},
                include=["distances"],
            )
            ids = [int(number) for number in answer["ids"][0]]
            slots = arrays.slots(ids)
            slots = slots[eligible[slots]]
            if len(slots) >= wanted:
                return slots
            if len(ids) < most or most == total:
                break
            # Much of what is near may not be seen: ask for more.
            most = min(4 * most, total)
        # Its search is approximate, and has missed some.
        return None

    def _current(self, tx: Transaction, space: int) -> bool:
        """Do what is quickly done; False when the collection is not whole afterwards."""
        latest = memory_index.revision(tx)
        self._open(space, latest)
        few = latest - self._revision <= _MOST_INLINE
        if self._filled == _COMPLETE and few and self._caught_up(tx, space, latest):
            return True
        if memory_index.count_vectors(tx, space) > _MOST_INLINE:
            return False
        self._begin(space, latest)
        while self._filled != _COMPLETE:
            self._fill(tx, space)
        self._matches = True
        return True

    def _advance(self, tx: Transaction, name: str) -> bool:
        """Do a slice of the work; whether there is more of it."""
        space = memory_index.space(tx, name)
        if space is None:
            return False
        failure = _chroma_error()
        with self._lock:
            if self._broken:
                return False
            try:
                latest = memory_index.revision(tx)
                self._open(space, latest)
                if self._filled != _COMPLETE:
                    self._fill(tx, space)
                    return True
                if self._caught_up(tx, space, latest):
                    return False
                self._begin(space, latest)
            except failure as error:
                self._give_up(error)
                return False
        return True

    def _give_up(self, error: Exception) -> None:
        """Leave it to the built-in index until the next start: this is only a cache."""
        self._broken = True
        _log.warning(
            "ChromaDB in %s does not work (%s); the built-in index is used. Delete the folder to "
            "have it made anew.",
            self._folder,
            error,
        )

    def _caught_up(self, tx: Transaction, space: int, latest: int) -> bool:
        """Follow the changes since the last time; False when the collection is of no use."""
        behind = latest - self._revision
        if behind > 0:
            known = memory_index.oldest_change(tx) <= self._revision + 1
            if behind > _MOST_CHANGES or not known:
                return False
            self._follow(tx, space, latest)
        if not self._matches:
            # A search may be a moment behind another one, but not before the first of them.
            self._matches = behind >= 0 and self._is_same(tx, space)
        return self._matches

    def _follow(self, tx: Transaction, space: int, latest: int) -> None:
        changed = memory_index.changed(tx, self._revision)
        for start in range(0, len(changed), _SLICE):
            ids = changed[start : start + _SLICE]
            there, packed = memory_index.some_vectors(tx, space, ids)
            size = len(packed) // max(1, len(there))
            self._put(
                tx, there, [packed[at : at + size] for at in range(0, len(packed), size or 1)]
            )
            if gone := [str(number) for number in set(ids).difference(there)]:
                self._collection.delete(ids=gone)
        self._note(latest, _COMPLETE)

    def _fill(self, tx: Transaction, space: int) -> None:
        ids, vectors = memory_index.vectors_after(tx, space, self._filled, limit=_SLICE)
        self._put(tx, ids, vectors)
        self._note(self._revision, ids[-1] if ids else _COMPLETE)

    def _put(self, tx: Transaction, ids: Sequence[int], vectors: Sequence[bytes]) -> None:
        if not ids:
            return
        found, packed = memory_index.some(tx, ids)
        owners = dict(zip(found, np.frombuffer(packed, ENTRY)["owner"].tolist(), strict=True))
        self._collection.upsert(
            ids=[str(number) for number in ids],
            embeddings=_matrix(vectors),
            metadatas=[{"owner": owners[number]} for number in ids],
        )

    def _is_same(self, tx: Transaction, space: int) -> bool:
        """Whether the collection holds the vectors of this database, as far as a sample shows."""
        if self._collection.count() != memory_index.count_vectors(tx, space):
            return False
        ids, vectors = memory_index.vectors_after(tx, space, 0, limit=_CHECKED)
        if not ids:
            return True
        names = [str(number) for number in ids]
        held = self._collection.get(ids=names, include=["embeddings"])
        rows = dict(zip(held["ids"], held["embeddings"], strict=True))
        wanted = _matrix(vectors)
        return all(
            name in rows and np.allclose(rows[name], row, atol=1e-3)
            for name, row in zip(names, wanted, strict=True)
        )

    def _open(self, space: int, latest: int) -> None:
        if self._collection is not None and self._space == space:
            return
        if self._client is None:
            self._client = _client(self._folder)
        self._space, self._matches = space, False
        for other in self._client.list_collections():
            # The vectors of an embedder that is not used any more.
            if other.name.startswith(_PREFIX) and other.name != f"{_PREFIX}{space}":
                self._client.delete_collection(other.name)
        # Made now, it is to be filled with what there is by the latest change.
        self._collection = self._client.get_or_create_collection(
            f"{_PREFIX}{space}",
            # Vectors are made here; ChromaDB's own embedder would be downloaded.
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine"}},
            metadata={_REVISION: latest, _FILLED: 0},
        )
        noted: dict[str, Any] = self._collection.metadata or {}
        self._revision = int(noted.get(_REVISION, 0))
        self._filled = int(noted.get(_FILLED, 0))

    def _begin(self, space: int, latest: int) -> None:
        """Throw the collection away and fill a new one from the beginning."""
        self._client.delete_collection(f"{_PREFIX}{space}")
        self._collection = None
        self._open(space, latest)

    def _note(self, revision: int, filled: int) -> None:
        self._collection.modify(metadata={_REVISION: revision, _FILLED: filled})
        self._revision, self._filled = revision, filled


def _client(folder: Path) -> Any:
    chromadb = importlib.import_module("chromadb")
    config = importlib.import_module("chromadb.config")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = config.Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(path=str(folder), settings=settings)


def _chroma_error() -> type[Exception]:
    return importlib.import_module("chromadb.errors").ChromaError


def _matrix(vectors: Sequence[bytes]) -> Vectors:
    halves = np.frombuffer(b"".join(vectors), np.float16)
    return halves.reshape(len(vectors), -1).astype(np.float32)
