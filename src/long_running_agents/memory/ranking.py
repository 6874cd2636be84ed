"""Ranking: which memories answer a question, decided from arrays alone.

Two arms find candidates: words and vectors. Then the structure of a conversation speaks: what was
said next to a good match, who said it, in which session, when, and how much it is likely to tell.
The weights were chosen on conversations and checked on notes; see docs/adr/0017.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from long_running_agents.domain.memory import Fusion, MemoryKind
from long_running_agents.memory.arrays import MemoryArrays, Slots
from long_running_agents.memory.words import QUESTION
from long_running_agents.store.memory_index import KINDS

Scores: TypeAlias = NDArray[np.floating[Any]]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """How much each part of the search counts."""

    words: float = 0.75
    """The question's words in the memory itself."""
    around: float = 1.75
    """The question's words in what was said around it."""
    meaning: float = 1.0
    beside: float = 0.6
    """The score of what was said just before or after."""
    answer: float = 0.25
    """How much more that is when it was said before and is a question."""
    actor: float = 0.4
    telling: float = 0.15
    wanted: float = 0.25
    """Saying when, or how many, if that is what was asked."""
    session: float = 0.7
    """How well the whole session answers."""
    date: float = 0.3


@dataclass(frozen=True, slots=True)
class WordMatch:
    """The slots that have one word of the question."""

    word: str
    slots: Slots
    share: float = 1.0
    """How much the word counts, beside what its rarity gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchEvidence:
    """What the arms have found."""

    eligible: Mask
    """For each slot, whether it may be among the answers."""
    words: Sequence[WordMatch]
    near: Slots
    """Slots near in meaning."""
    nearness: Scores
    """How near they are, from 0 to 1."""
    actor: int | None = None
    """The one actor the question names."""
    wanted: int = 0
    """The signs that an answer should have."""
    in_period: Mask | None = None
    """For each slot, whether it happened when the question asks about."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best slots, their scores, and what each part gave them."""

    slots: Slots
    scores: Scores
    parts: Mapping[str, Scores]


_AROUND = ((-2, 0.25), (-1, 0.5), (2, 0.5), (1, 0.8), (0, 1.0))
"""How much a word counts for what was said so many places later, the weakest first."""
_SATURATION = 1.2
_OWN_LENGTH = 0.25
_AROUND_LENGTH = 0.5
_KEPT = 600
_MANY = 3 * _KEPT
_PROMISING = 1_000
_CROWD = 3 * _PROMISING
_BEST_OF_SESSION = 3
_RRF = 60
_CONVERSATION = KINDS.index(MemoryKind.CONVERSATION)
_STRUCTURE = ("kind", "actor", "signs", "telling", "session")


def rank(
    arrays: MemoryArrays,
    evidence: MatchEvidence,
    weights: RankingWeights,
    *,
    limit: int,
    fusion: Fusion = "weights",
) -> Ranked:
    """Bring the evidence together."""
    terms = _terms(evidence)
    found = _candidates(arrays, evidence, terms)
    if not len(found.slots):
        return Ranked(found.slots, np.empty(0, np.float32), {})
    words, around = _keyword_arm(arrays, terms, found)
    meaning = np.zeros(len(found.slots), np.float32)
    meaning[found.place(evidence.near)] = evidence.nearness
    parts = {"words": words, "around": around, "meaning": meaning}
    if fusion == "rrf":
        scores = _reciprocal_ranks([around, meaning])
    else:
        total = weights.words * words + weights.around * around + weights.meaning * meaning
        found, total, parts = _narrowed(arrays, found, total, parts)
        scores = _structured(arrays, evidence, weights, found, total, parts)
    order = np.argsort(-scores, kind="stable")[:limit]
    scores = _scaled(scores[order])
    return Ranked(found.slots[order], scores, {name: part[order] for name, part in parts.items()})


@dataclass(frozen=True, slots=True)
class _Term:
    """A word of the question: who has it among the eligible, and how much it tells."""

    slots: Slots
    rarity: float


def _terms(evidence: MatchEvidence) -> list[_Term]:
    everything = np.count_nonzero(evidence.eligible)
    terms: list[_Term] = []
    for match in evidence.words:
        slots = match.slots[evidence.eligible[match.slots]]
        if count := len(slots):
            rarity = np.log1p((everything - count + 0.5) / (count + 0.5)) * match.share
            terms.append(_Term(slots, float(rarity)))
    return terms


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Some slots in a row, and where in the row each is."""

    slots: Slots
    places: NDArray[np.int32]
    """For each slot; -1 for one that is no candidate."""

    @classmethod
    def of(cls, slots: Slots, everything: int) -> "_Candidates":
        """Put slots in a row."""
        places = np.full(everything + 1, -1, np.int32)
        places[slots] = np.arange(len(slots))
        return cls(slots, places)

    def place(self, slots: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """Where slots are in the row."""
        return self.places[slots]


def _candidates(
    arrays: MemoryArrays, evidence: MatchEvidence, terms: Sequence[_Term]
) -> _Candidates:
    # In all of these the last place is for -1, where nothing is.
    marked = np.zeros(len(arrays) + 1, np.bool_)
    for term in terms:
        marked[term.slots] = True
    if evidence.in_period is not None:
        marked[:-1] |= evidence.in_period & evidence.eligible
    slots = np.flatnonzero(marked)
    if len(slots) > _CROWD:
        slots = slots[best(_promise(arrays, terms, slots), _PROMISING)]
        marked[:] = False
        marked[slots] = True
    marked[evidence.near] = True
    for _ in range(2):
        slots = np.flatnonzero(marked[:-1])
        marked[arrays.before[slots]] = True
        marked[arrays.after[slots]] = True
    return _Candidates.of(np.flatnonzero(marked[:-1] & evidence.eligible), len(arrays))


def _promise(arrays: MemoryArrays, terms: Sequence[_Term], slots: Slots) -> Scores:
    """Roughly how many telling words are in and right beside some slots."""
    own = np.zeros(len(arrays) + 1, np.float32)
    for term in terms:
        own[term.slots] += term.rarity
    (_, earlier), (_, later) = _AROUND[3], _AROUND[1]
    beside = earlier * own[arrays.before[slots]] + later * own[arrays.after[slots]]
    return own[slots] + beside


def best(scores: Scores, count: int) -> NDArray[np.int64]:
    """Where the best scores are; of equal ones the last, which is the latest."""
    limit = np.partition(scores, -count)[-count]
    above = np.flatnonzero(scores > limit)
    level = np.flatnonzero(scores == limit)[len(above) - count :]
    return np.sort(np.concatenate([above, level]))


def _keyword_arm(
    arrays: MemoryArrays, terms: Sequence[_Term], found: _Candidates
) -> tuple[Scores, Scores]:
    """BM25 scores by words, of the memory itself and of what was said around it."""
    own = np.zeros(len(found.slots), np.float32)
    around = np.zeros(len(found.slots), np.float32)
    sources = [(_moved(arrays, found.slots, -distance), share) for distance, share in _AROUND]
    has = np.zeros(len(arrays) + 1, np.bool_)
    for term in terms:
        has[term.slots] = True
        here = np.zeros(len(found.slots), np.float32)
        for slots, share in sources:
            here[has[slots]] = share
        own += term.rarity * (here == 1)
        around += term.rarity * here
        has[term.slots] = False
    lengths = arrays.entries["length"][found.slots].astype(np.float32)
    before = arrays.before[found.slots]
    both = lengths + np.where(before >= 0, arrays.entries["length"][before], 0)
    usual = max(float(lengths.mean()), 1.0)
    own *= _length_share(lengths / usual, _OWN_LENGTH)
    around *= _length_share(both / (2 * usual), _AROUND_LENGTH)
    return _scaled(own), _scaled(around)


def _moved(arrays: MemoryArrays, slots: Slots, distance: int) -> Slots:
    """For each slot the one so many places later in its conversation, or -1."""
    step = arrays.after if distance > 0 else arrays.before
    for _ in range(abs(distance)):
        slots = np.where(slots >= 0, step[slots], -1)
    return slots


def _length_share(length: Scores, strength: float) -> Scores:
    return (_SATURATION + 1) / (1 + _SATURATION * (1 - strength + strength * length))


def _narrowed(
    arrays: MemoryArrays, found: _Candidates, total: Scores, parts: dict[str, Scores]
) -> tuple[_Candidates, Scores, dict[str, Scores]]:
    """Only the best candidates and what is beside them, when there are very many."""
    if len(total) <= _MANY:
        return found, total, parts
    chosen = best(total, _KEPT)
    kept = np.zeros(len(total) + 1, np.bool_)
    kept[chosen] = True
    for step in (arrays.before, arrays.after):
        kept[found.place(step[found.slots[chosen]])] = True
    row = np.flatnonzero(kept[:-1])
    narrow = _Candidates.of(found.slots[row], len(arrays))
    return narrow, total[row], {name: part[row] for name, part in parts.items()}


def _structured(
    arrays: MemoryArrays,
    evidence: MatchEvidence,
    weights: RankingWeights,
    found: _Candidates,
    total: Scores,
    parts: dict[str, Scores],
) -> Scores:
    """Add what the structure of the conversation says."""
    entries = {name: arrays.entries[name][found.slots] for name in _STRUCTURE}
    talk = entries["kind"] == _CONVERSATION
    base = _scaled(total)
    beside = _beside(arrays, weights, found, base)
    # What is no part of a conversation has nothing beside it and speaks for itself.
    scores = _scaled(base + weights.beside * np.where(talk, beside, base))
    parts["beside"] = weights.beside * beside
    if evidence.actor is not None:
        parts["actor"] = weights.actor * (entries["actor"] == evidence.actor).astype(np.float32)
        scores = scores + parts["actor"]
    if evidence.wanted:
        has = (entries["signs"] & evidence.wanted) > 0
        parts["wanted"] = weights.wanted * has.astype(np.float32)
        scores = scores + parts["wanted"]
    parts["telling"] = weights.telling * np.where(talk, entries["telling"], 0).astype(np.float32)
    scores = _scaled(scores + parts["telling"])
    session = _session_mean(entries["session"], scores)
    session = np.where(talk & (entries["session"] > 0), session, scores)
    parts["session"] = weights.session * session
    scores = _scaled(scores + parts["session"])
    if evidence.in_period is not None:
        parts["date"] = weights.date * evidence.in_period[found.slots].astype(np.float32)
        scores = scores + parts["date"]
    return scores


def _beside(
    arrays: MemoryArrays, weights: RankingWeights, found: _Candidates, base: Scores
) -> Scores:
    """The better of the scores just before and just after."""
    # The last place, for -1, has no score; neither has whatever is no candidate.
    everywhere = np.append(base, np.float32(0))
    before, after = arrays.before[found.slots], arrays.after[found.slots]
    asked = (before >= 0) & ((arrays.entries["signs"][before] & QUESTION) > 0)
    earlier = everywhere[found.place(before)] * np.where(asked, 1 + weights.answer, 1)
    return np.maximum(earlier, everywhere[found.place(after)]).astype(np.float32)


def _session_mean(sessions: NDArray[np.int32], scores: Scores) -> Scores:
    """For each memory, the mean of the best scores in its session."""
    order = np.lexsort((-scores, sessions))
    grouped = sessions[order]
    first = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1]))
    place = np.arange(len(grouped)) - np.repeat(first, np.diff(np.append(first, len(grouped))))
    group = np.cumsum(np.append(False, grouped[1:] != grouped[:-1]))
    leading = place < _BEST_OF_SESSION
    sums = np.bincount(group[leading], np.maximum(scores[order][leading], 0))
    means = np.empty(len(scores), np.float32)
    means[order] = (sums / _BEST_OF_SESSION)[group]
    return means


def _reciprocal_ranks(arms: Sequence[Scores]) -> Scores:
    """Reciprocal rank fusion: what counts is the place in each list, not the score."""
    total = np.zeros(len(arms[0]), np.float32)
    for arm in arms:
        order = np.argsort(-arm, kind="stable")
        order = order[arm[order] > 0]
        total[order] += 1 / (_RRF + 1 + np.arange(len(order)))
    return total


def _scaled(scores: Scores) -> Scores:
    """Scores with the best at 1."""
    top = float(scores.max()) if len(scores) else 0.0
    return (scores / top if top > 0 else scores).astype(np.float32)
