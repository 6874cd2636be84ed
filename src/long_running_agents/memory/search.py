"""The search: one call from a question to the memories that answer it, each with its reasons."""

from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from long_running_agents.domain.memory import Found, Hit, Query, Viewer
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.eligible import Sight
from long_running_agents.memory.embedding.port import Embedder, QuickEmbedder, Vectors
from long_running_agents.memory.nearness import Near, nothing
from long_running_agents.memory.question import Reading, read
from long_running_agents.memory.ranking import Evidence, Mask, Ranked, Scores, Weights, rank
from long_running_agents.memory.shelf import Shelf, Shelves
from long_running_agents.memory.vector_index import BuiltInIndex, VectorIndex
from long_running_agents.store import memories, memory_vectors
from long_running_agents.store.database import Database, Transaction

NO_EMBEDDER = "there is no embedder, so only words were compared"


@dataclass(frozen=True, slots=True)
class _Prepared:
    shelf: Shelf
    space: int | None
    eligible: Mask
    reading: Reading


class Search:
    """Finds memories. Works without an embedder, and says so."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder | None,
        clock: Clock,
        weights: Weights | None = None,
        index: VectorIndex | None = None,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._weights = weights or Weights()
        self._index = index or BuiltInIndex()
        self._shelves = Shelves()
        self._sight = Sight()

    async def find(self, viewer: Viewer, query: Query) -> Found:
        """The memories that answer a question best."""
        prepared, found = await self._database.read(lambda tx: self._at_once(tx, viewer, query))
        if found is not None:
            return found
        vector, degraded = await self._vector(prepared)
        return await self._database.read(
            lambda tx: self._found(tx, viewer, query, prepared, vector, degraded)
        )

    def _at_once(
        self, tx: Transaction, viewer: Viewer, query: Query
    ) -> tuple[_Prepared, Found | None]:
        """The whole search in one transaction, unless the question's vector takes waiting for."""
        prepared = self._prepare(tx, viewer, query)
        if self._embedder is None:
            return prepared, self._found(tx, viewer, query, prepared, None, NO_EMBEDDER)
        meaning = prepared.reading.meaning
        if not meaning:
            return prepared, self._found(tx, viewer, query, prepared, None, "")
        if isinstance(self._embedder, QuickEmbedder):
            vector = self._embedder.query_at_once(meaning)
            if vector is not None:
                degraded = _incomplete(prepared)
                return prepared, self._found(tx, viewer, query, prepared, vector, degraded)
        return prepared, None

    async def similar(
        self, viewer: Viewer, query: Query, vector: Vectors | None
    ) -> tuple[Found, dict[int, float]]:
        """The memories most like a text, and the cosine of each that is near in meaning."""
        prepared = await self._database.read(lambda tx: self._prepare(tx, viewer, query))

        def work(tx: Transaction) -> tuple[list[Hit], dict[int, float]]:
            near = self._near(tx, prepared, vector)
            ids = prepared.shelf.ids[near.slots].tolist()
            cosines = dict(zip(ids, near.similarity.tolist(), strict=True))
            return self._hits(tx, viewer, query, prepared, near), cosines

        hits, cosines = await self._database.read(work)
        return Found(hits=tuple(hits)), cosines

    def _prepare(self, tx: Transaction, viewer: Viewer, query: Query) -> _Prepared:
        space, dimensions = None, 0
        with self._shelves.alone():
            if self._embedder is not None and self._embedder.dimensions is not None:
                space = memory_vectors.space(tx, self._embedder.space)
                dimensions = self._embedder.dimensions
            shelf = self._shelves.current(tx, space, dimensions)
        allowed = self._sight.eligible(shelf, viewer, query, self._clock.now())
        if query.source is not None:
            allowed = allowed & _from_source(tx, shelf, viewer, query.source)
        reading = read(tx, shelf, query.text, allowed, shelf.names.get(viewer.owner))
        return _Prepared(shelf, space, allowed, reading)

    async def _vector(self, prepared: _Prepared) -> tuple[Vectors | None, str]:
        assert self._embedder is not None  # noqa: S101 - else there was nothing to wait for
        try:
            vector = await self._embedder.query(prepared.reading.meaning)
        except EmbedderFailed as error:
            return None, f"only words were compared: {error.message}"
        return vector, _incomplete(prepared)

    def _found(
        self,
        tx: Transaction,
        viewer: Viewer,
        query: Query,
        prepared: _Prepared,
        vector: Vectors | None,
        degraded: str,
    ) -> Found:
        near = self._near(tx, prepared, vector)
        hits = self._hits(tx, viewer, query, prepared, near)
        return Found(hits=tuple(hits), degraded=degraded)

    def _near(self, tx: Transaction, prepared: _Prepared, vector: Vectors | None) -> Near:
        if vector is None or prepared.space is None:
            return nothing()
        return self._index.nearest(tx, prepared.shelf, prepared.space, vector, prepared.eligible)

    def _hits(
        self,
        tx: Transaction,
        viewer: Viewer,
        query: Query,
        prepared: _Prepared,
        near: Near,
    ) -> list[Hit]:
        evidence = Evidence(
            eligible=prepared.eligible,
            words=prepared.reading.matches,
            near=near.slots,
            nearness=near.nearness,
            actor=prepared.reading.actor,
            wanted=prepared.reading.wanted,
            in_period=self._in_period(prepared, query),
        )
        ranked = rank(
            prepared.shelf, evidence, self._weights, limit=query.limit, fusion=query.fusion
        )
        parts = {**ranked.parts, "cosine": _cosines(near, ranked)}
        return _told(tx, viewer, prepared.shelf, replace(ranked, parts=parts))

    def _in_period(self, prepared: _Prepared, query: Query) -> Mask | None:
        return _inside(query.text, query.as_of or self._clock.now(), prepared.shelf.days)


def _incomplete(prepared: _Prepared) -> str:
    missing = int(np.count_nonzero(prepared.eligible & ~prepared.shelf.embedded))
    return (
        f"{missing} memories are not embedded yet and were found by words only" if missing else ""
    )


def _inside(question: str, now: datetime, days: NDArray[np.int32]) -> Mask | None:
    """For each slot, whether its day is in a stretch: asked once a day, not once a memory.

    None when the question names no time.
    """
    from long_running_agents.memory import dates  # noqa: PLC0415 - 40 ms, for who never searches

    if not (asked := dates.periods(question, now)):
        return None
    if not len(days):
        return np.zeros(0, np.bool_)
    first, last = int(days.min()), int(days.max())
    calendar = np.arange(first, last + 1, dtype=np.int32)
    return dates.matches_all(asked, calendar)[days - first]


def _from_source(tx: Transaction, shelf: Shelf, viewer: Viewer, source: str) -> Mask:
    allowed = np.zeros(len(shelf), np.bool_)
    allowed[shelf.slots(memories.from_source(tx, viewer.owner, source))] = True
    return allowed


def _cosines(near: Near, ranked: Ranked) -> Scores:
    """For each slot that was ranked, how near it is in itself, whatever the others are."""
    known = dict(zip(near.slots.tolist(), near.similarity.tolist(), strict=True))
    return np.array([known.get(slot, 0.0) for slot in ranked.slots.tolist()], np.float32)


def _told(tx: Transaction, viewer: Viewer, shelf: Shelf, ranked: Ranked) -> list[Hit]:
    ids = shelf.ids[ranked.slots].tolist()
    # Asked once more whether the viewer may see them: the arrays decide the order, not the right.
    stored = memories.many(tx, viewer, ids)
    return [
        Hit(
            memory=stored[number],
            score=round(float(score), 4),
            why={
                name: round(float(part[place]), 4)
                for name, part in ranked.parts.items()
                if part[place]
            },
        )
        for place, (number, score) in enumerate(zip(ids, ranked.scores, strict=True))
        if number in stored
    ]
