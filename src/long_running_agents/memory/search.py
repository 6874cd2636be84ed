"""Hybrid search: from a question to the memories that answer it, by keywords and vectors."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from long_running_agents.domain.memory import Hit, MemoryId, MemoryResults, Query, Selection, Viewer
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import EmbedderFailed, UsageError
from long_running_agents.memory import words
from long_running_agents.memory.arrays import MemoryArrayCache, MemoryArrays, Slots
from long_running_agents.memory.embedding.base import Embedder, QuickEmbedder, Vectors
from long_running_agents.memory.ranking import (
    Mask,
    MatchEvidence,
    Ranked,
    RankingWeights,
    Scores,
    WordMatch,
    rank,
)
from long_running_agents.memory.vectors import Near, VectorIndex, nothing
from long_running_agents.memory.words import forms
from long_running_agents.store import memories, memory_index
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.memory_index import KINDS, NEVER, NOBODY, OFF, SCOPES
from long_running_agents.store.tables import microseconds

_UNKNOWN = -1
_KEPT = 8


def eligible(arrays: MemoryArrays, viewer: Viewer, query: Query, now: datetime) -> Mask:
    """For each slot, whether a viewer may see it and the query asks for it."""
    moment = microseconds(query.as_of or now)
    return _asked_for(arrays, query, _present(arrays, viewer, moment, query.disabled).mask)


@dataclass(frozen=True, slots=True)
class _Present:
    """What a viewer may see at a moment, and until when it stays so by itself."""

    mask: Mask
    revision: int
    since: int
    until: int

    def holds(self, arrays: MemoryArrays, moment: int) -> bool:
        return self.revision == arrays.revision and self.since <= moment < self.until


class VisibleMemories:
    """What viewers may see now, kept until it changes: hardly any search comes with a filter."""

    def __init__(self) -> None:
        self._present: dict[Viewer, _Present] = {}
        # Searches run on several threads.
        self._lock = threading.Lock()

    def eligible(self, arrays: MemoryArrays, viewer: Viewer, query: Query, now: datetime) -> Mask:
        """The same as the function; the mask is not the caller's to change."""
        if query.as_of is not None or query.disabled:
            return eligible(arrays, viewer, query, now)
        moment = microseconds(now)
        with self._lock:
            present = self._present.get(viewer)
            if present is None or not present.holds(arrays, moment):
                present = _present(arrays, viewer, moment)
                if len(self._present) >= _KEPT:
                    self._present.pop(next(iter(self._present)))
                self._present[viewer] = present
        return _asked_for(arrays, query, present.mask)


def _present(arrays: MemoryArrays, viewer: Viewer, moment: int, disabled: bool = False) -> _Present:
    entries = arrays.entries
    seen = visible(arrays, viewer)
    if not disabled:
        seen &= entries["signs"] < OFF
    begun = entries["recorded"] <= moment
    ends = np.minimum(entries["valid_to"], entries["expires"])
    mask = seen & begun & (ends > moment)
    first_end = ends.min(where=mask, initial=NEVER)
    next_begin = entries["recorded"].min(where=~begun, initial=NEVER)
    return _Present(mask, arrays.revision, moment, int(min(first_end, next_begin)))


def _asked_for(arrays: MemoryArrays, query: Query, present: Mask) -> Mask:
    entries = arrays.entries
    allowed = present
    if query.kinds:
        kinds = np.zeros(len(KINDS), np.bool_)
        kinds[[KINDS.index(kind) for kind in query.kinds]] = True
        allowed = allowed & kinds[entries["kind"]]
    if query.session_id is not None:
        allowed = allowed & (entries["session"] == _code(arrays, query.session_id))
    if query.not_session is not None:
        allowed = allowed & (entries["session"] != _code(arrays, query.not_session))
    if query.actor is not None:
        allowed = allowed & (entries["actor"] == _code(arrays, query.actor.lower()))
    if query.least_trust is not None:
        allowed = allowed & (entries["trust"] >= query.least_trust.rank)
    if query.since is not None:
        allowed = allowed & (entries["event"] >= microseconds(query.since))
    if query.until is not None:
        allowed = allowed & (entries["event"] < microseconds(query.until))
    return allowed


def visible(arrays: MemoryArrays, viewer: Viewer) -> Mask:
    """For each slot, whether a viewer may see it at all."""
    entries = arrays.entries
    user, agent, session = range(len(SCOPES))
    seen = entries["scope"] == user
    if viewer.agent is not None:
        seen |= (entries["scope"] == agent) & (entries["agent"] == _code(arrays, viewer.agent))
    if viewer.session_id is not None:
        here = entries["session"] == _code(arrays, viewer.session_id)
        seen |= (entries["scope"] == session) & here
    return seen & (entries["owner"] == _code(arrays, viewer.owner)) & ~arrays.gone


def _code(arrays: MemoryArrays, name: str) -> int:
    """The number of a name; one that no memory has, when nobody ever used it."""
    assert NOBODY == 0  # noqa: S101 - so that an unknown name is not nobody
    return arrays.names.get(name, _UNKNOWN)


USER = "user"
_ME = frozenset({"i", "me", "my", "mine", "myself"})
_NAME_SHARE = 0.5
"""A name is in most of what its bearer says, so it tells less than its rarity would have it."""
_COMMON = 5_000
_COMMON_SHARE = 50


@dataclass(frozen=True, slots=True)
class QueryReading:
    """What a question is about."""

    matches: list[WordMatch]
    actor: int | None
    """The one actor it names."""
    meaning: str
    """What is left of it without names and little words."""
    wanted: int
    """The signs that an answer should have."""


def read(
    tx: Transaction, arrays: MemoryArrays, question: str, eligible: Mask, owner: int | None
) -> QueryReading:
    """Look up what the words of a question are known for."""
    asked = words.asked(question)
    actors = _named(arrays, question, eligible)
    names = {part for name in actors for part in name.split()}
    matches = _matches(tx, arrays, asked, names, eligible, owner)
    meaning = [word for word in asked if word not in names] or asked
    return QueryReading(
        matches=matches,
        actor=next(iter(actors.values())) if len(actors) == 1 else None,
        meaning=" ".join(meaning),
        wanted=words.wanted(question),
    )


def _named(arrays: MemoryArrays, question: str, eligible: Mask) -> dict[str, int]:
    """The actors whom a question names, as far as the viewer knows them."""
    said = words.spoken(question)
    pairs = [" ".join(pair) for pair in pairwise(said)]
    named = _known(arrays, [*said, *pairs], eligible)
    if not named and _ME.intersection(said):
        return _known(arrays, [USER], eligible)
    return named


def _known(arrays: MemoryArrays, names: list[str], eligible: Mask) -> dict[str, int]:
    codes = {name: code for name in names if (code := arrays.names.get(name)) in arrays.actors}
    actors = arrays.entries["actor"]
    return {name: code for name, code in codes.items() if (eligible & (actors == code)).any()}


def _matches(
    tx: Transaction,
    arrays: MemoryArrays,
    asked: list[str],
    names: set[str],
    eligible: Mask,
    owner: int | None,
) -> list[WordMatch]:
    most = max(_COMMON, len(arrays) // _COMMON_SHARE)
    own = np.count_nonzero(eligible)
    rare: list[WordMatch] = []
    common: list[WordMatch] = []
    for word in asked:
        ids = memory_index.having(tx, forms(word), most=most + 1)
        if len(ids) > most and own < len(arrays) // 2:
            # Others say it often; what this owner said must not be crowded out.
            ids = memory_index.having(tx, forms(word), most=most + 1, owner=owner)
        share = _NAME_SHARE if word in names else 1.0
        match = WordMatch(word, arrays.slots(ids[::-1]), share)
        (common if len(ids) > most else rare).append(match)
    # A word that everything has tells nothing, unless nothing else was asked.
    return rare if any(len(match.slots) for match in rare) else rare + common


NO_EMBEDDER = "there is no embedder, so only words were compared"


@dataclass(frozen=True, slots=True)
class _Prepared:
    viewer: Viewer
    query: Query
    arrays: MemoryArrays
    space: int | None
    eligible: Mask
    reading: QueryReading


class HybridSearch:
    """Finds memories. Works without an embedder, and says so."""

    def __init__(
        self, database: Database, embedder: Embedder | None, clock: Clock, index: VectorIndex
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._weights = RankingWeights()
        self._index = index
        self._arrays = MemoryArrayCache()
        self._sight = VisibleMemories()

    async def find(self, viewer: Viewer, query: Query) -> MemoryResults:
        """The memories that answer a question best."""
        prepared, found = await self._database.read(lambda tx: self._at_once(tx, viewer, query))
        if found is not None:
            return found
        vector, degraded = await self._vector(prepared)
        return await self._database.read(lambda tx: self._found(tx, prepared, vector, degraded))

    def _at_once(
        self, tx: Transaction, viewer: Viewer, query: Query
    ) -> tuple[_Prepared, MemoryResults | None]:
        """The whole search in one transaction, unless the question's vector takes waiting for."""
        prepared = self._prepare(tx, viewer, query)
        if self._embedder is None:
            return prepared, self._found(tx, prepared, None, NO_EMBEDDER)
        meaning = prepared.reading.meaning
        if not meaning:
            return prepared, self._found(tx, prepared, None, "")
        if isinstance(self._embedder, QuickEmbedder):
            vector = self._embedder.query_at_once(meaning)
            if vector is not None:
                return prepared, self._found(tx, prepared, vector, _incomplete(prepared))
        return prepared, None

    async def similar(
        self, viewer: Viewer, query: Query, vector: Vectors | None
    ) -> tuple[MemoryResults, dict[int, float]]:
        """The memories most like a text, and the cosine of each that is near in meaning."""
        prepared = await self._database.read(lambda tx: self._prepare(tx, viewer, query))

        def work(tx: Transaction) -> tuple[list[Hit], dict[int, float]]:
            near = self._near(tx, prepared, vector)
            ids = prepared.arrays.ids[near.slots].tolist()
            cosines = dict(zip(ids, near.similarity.tolist(), strict=True))
            return self._hits(tx, prepared, near), cosines

        hits, cosines = await self._database.read(work)
        return MemoryResults(hits=tuple(hits)), cosines

    def _prepare(self, tx: Transaction, viewer: Viewer, query: Query) -> _Prepared:
        space, dimensions = None, 0
        with self._arrays.alone():
            if self._embedder is not None and self._embedder.dimensions is not None:
                space = memory_index.space(tx, self._embedder.space)
                dimensions = self._embedder.dimensions
            arrays = self._arrays.current(tx, space, dimensions)
        allowed = self._sight.eligible(arrays, viewer, query, self._clock.now())
        if query.source is not None:
            allowed = allowed & _from_source(tx, arrays, viewer, query.source)
        reading = read(tx, arrays, query.text, allowed, arrays.names.get(viewer.owner))
        return _Prepared(viewer, query, arrays, space, allowed, reading)

    async def _vector(self, prepared: _Prepared) -> tuple[Vectors | None, str]:
        assert self._embedder is not None  # noqa: S101 - else there was nothing to wait for
        try:
            vector = await self._embedder.query(prepared.reading.meaning)
        except EmbedderFailed as error:
            return None, f"only words were compared: {error.message}"
        return vector, _incomplete(prepared)

    def _found(
        self, tx: Transaction, prepared: _Prepared, vector: Vectors | None, degraded: str
    ) -> MemoryResults:
        hits = self._hits(tx, prepared, self._near(tx, prepared, vector))
        return MemoryResults(hits=tuple(hits), degraded=degraded)

    def _near(self, tx: Transaction, prepared: _Prepared, vector: Vectors | None) -> Near:
        if vector is None or prepared.space is None:
            return nothing()
        return self._index.nearest(tx, prepared.arrays, prepared.space, vector, prepared.eligible)

    def _hits(self, tx: Transaction, prepared: _Prepared, near: Near) -> list[Hit]:
        query = prepared.query
        evidence = MatchEvidence(
            eligible=prepared.eligible,
            words=prepared.reading.matches,
            near=near.slots,
            nearness=near.nearness,
            actor=prepared.reading.actor,
            wanted=prepared.reading.wanted,
            in_period=_inside(query.text, query.as_of or self._clock.now(), prepared.arrays.days),
        )
        ranked = rank(
            prepared.arrays, evidence, self._weights, limit=query.limit, fusion=query.fusion
        )
        parts = {**ranked.parts, "cosine": _cosines(near, ranked)}
        strength = _strength(ranked.slots, parts, prepared.reading.matches)
        whole = replace(ranked, scores=ranked.scores * strength, parts=parts)
        return _told(tx, prepared.viewer, prepared.arrays, whole)


def _incomplete(prepared: _Prepared) -> str:
    missing = int(np.count_nonzero(prepared.eligible & ~prepared.arrays.embedded))
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


def _from_source(tx: Transaction, arrays: MemoryArrays, viewer: Viewer, source: str) -> Mask:
    allowed = np.zeros(len(arrays), np.bool_)
    allowed[arrays.slots(memories.from_source(tx, viewer.owner, source))] = True
    return allowed


def _cosines(near: Near, ranked: Ranked) -> Scores:
    """For each slot that was ranked, how near it is in itself, whatever the others are."""
    known = dict(zip(near.slots.tolist(), near.similarity.tolist(), strict=True))
    return np.array([known.get(slot, 0.0) for slot in ranked.slots.tolist()], np.float32)


def _strength(slots: Slots, parts: Mapping[str, Scores], matches: Sequence[WordMatch]) -> float:
    """How well the best hits answer at all: by the words they share, by meaning, or by the day."""
    shares = [np.isin(slots, match.slots) / len(matches) for match in matches]
    signs = [np.sum(shares, axis=0), parts["cosine"], np.sign(parts.get("date", 0))]
    return float(np.clip(max(np.max(sign, initial=0) for sign in signs), 0, 1))


def _told(tx: Transaction, viewer: Viewer, arrays: MemoryArrays, ranked: Ranked) -> list[Hit]:
    ids = arrays.ids[ranked.slots].tolist()
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


_ALL = 2**31


async def narrowed(database: Database, owner: str, selection: Selection, query: str) -> Selection:
    """The selection, narrowed to memories with all words of a query."""
    asked = words.asked(query)
    if not asked:
        raise UsageError(f"There are no words in {query!r}.", hint="Say which words to look for.")
    having = await database.read(lambda tx: _having(tx, owner, asked))
    ids = having if selection.ids is None else having & selection.ids
    return replace(selection, ids=ids)


def _having(tx: Transaction, owner: str, asked: list[str]) -> frozenset[MemoryId]:
    code = memory_index.names(tx).get(owner)
    if code is None:
        return frozenset()
    first, *others = (
        memory_index.having(tx, [word], most=_ALL, owner=code).tolist() for word in asked
    )
    return frozenset(MemoryId(number) for number in set(first).intersection(*others))
