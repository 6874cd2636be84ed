"""The router: which agent a message is for, by words and vectors, then by a model if need be."""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from long_running_agents.agent.context_window import small
from long_running_agents.agent.model_request import SideRequest, SideRequests
from long_running_agents.domain.agent import AgentSpec
from long_running_agents.domain.routing import (
    SHORTLIST,
    RouteCandidate,
    Routing,
    able,
    chosen,
    passages,
    question,
    routed,
    spoken_of,
)
from long_running_agents.domain.text import is_small_talk, keywords
from long_running_agents.errors import EmbedderFailed, LraError
from long_running_agents.memory.embedding.base import Embedder, QuickEmbedder, Vectors
from long_running_agents.memory.words import asked, searchable
from long_running_agents.store import agents
from long_running_agents.store.database import Database, Transaction

log = logging.getLogger(__name__)

_SATURATION, _LENGTH = 1.2, 0.75
"""As usual for BM25."""
_FLOOR = 0.35
"""How near in meaning something has to be that shares no word with the message."""
_LIKELY = 48
"""Agents all texts of which are compared with the message."""
_LONGEST = 2_000
"""Characters of a message that are looked at."""
_ANSWER = 2_000
"""Tokens that a model may think and answer with."""
_COMMON = frozenset(
    """
    after again all also always am any anything back because been being best both came can come
    could day else even ever every first found get give go going good got great help into just
    know last let like look make many may maybe might more most much must need new next no now
    off ok okay once only other others out over own people please put really right same say see
    shall should show since some someone something still such sure take tell than thank thanks
    then there these thing things think those time today too try two up us use used very want way
    well while work year yes
    """.split()  # noqa: SIM905 - a text is read more easily than a hundred quoted words
)
"""The words that are most frequent in English: among few agents, even those look rare."""


Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Posting:
    """The agents that have a word, and what it gives each of them."""

    agents: NDArray[np.int32]
    gives: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIndex:
    """Published agents, to be found by the words and the meaning of a message."""

    revision: int
    specs: Sequence[AgentSpec]
    postings: Mapping[str, _Posting]
    texts: Sequence[str]
    """What has a vector, agent by agent: its description first, then passages, then examples."""
    first: NDArray[np.int64]
    """Where the texts of each agent begin, and at last where all of them end."""
    examples: NDArray[np.int64]
    """Where its examples begin."""
    vectors: Vectors | None = None
    """Of the texts; None without an embedder."""
    heads: Vectors | None = None
    """Of the descriptions alone, which are looked at first."""

    @classmethod
    def of(
        cls, revision: int, specs: Sequence[AgentSpec], learned: Mapping[str, Sequence[str]]
    ) -> "AgentIndex":
        """Take agents in, with what people said was for them."""
        texts: list[str] = []
        first, examples, words = [0], list[int](), list[Counter[str]]()
        for spec in specs:
            said = list(dict.fromkeys([*spec.examples, *learned.get(spec.name, ())]))
            texts += passages(spec)
            examples.append(len(texts))
            texts += said
            first.append(len(texts))
            words.append(Counter(keywords(searchable(spoken_of(spec, said)))))
        return cls(
            revision=revision,
            specs=specs,
            postings=_postings(words),
            texts=texts,
            first=np.array(first),
            examples=np.array(examples, np.int64),
        )

    def embedded(self, vectors: Vectors | None) -> "AgentIndex":
        """The same with the vectors of its texts."""
        heads = None if vectors is None else vectors[self.first[:-1]]
        return replace(self, vectors=vectors, heads=heads)

    def find(
        self, text: str, vector: Vectors | None, needs: Sequence[str] = ()
    ) -> list[RouteCandidate]:
        """The best candidates for a message, the first of them first; none below the floor."""
        terms = _terms(text)
        words = self._words(terms)
        if needs:
            words[[not able(spec, needs) for spec in self.specs]] = -1
        row, near = self._likely(words, vector)
        row, near = row[words[row] >= 0], near[words[row] >= 0]
        if not len(row) or (words[row].max() <= 0 and near.max() < _FLOOR):
            return []
        scores = _scaled(words[row]) + _scaled(near)
        best = np.argsort(-scores, kind="stable")[:SHORTLIST]
        told = [self._candidate(int(row[at]), float(scores[at]), terms, vector) for at in best]
        return [each for each in told if each.score > 0 and (each.words or each.near_example)]

    def _words(self, terms: Mapping[str, str]) -> Scores:
        """BM25 of every agent."""
        scores = np.zeros(len(self.specs), np.float32)
        for term in terms:
            if (posting := self.postings.get(term)) is not None:
                scores[posting.agents] += posting.gives
        return scores

    def _likely(self, words: Scores, vector: Vectors | None) -> tuple[NDArray[np.int64], Scores]:
        """The agents that come into question, and how near in meaning each of them is."""
        everyone = np.arange(len(self.specs))
        if self.vectors is None or self.heads is None or vector is None:
            return everyone, np.zeros(len(everyone), np.float32)
        row = everyone
        if len(row) > _LIKELY:
            roughly = _scaled(words) + _scaled(self.heads @ vector)
            row = np.argpartition(np.where(words < 0, 1, -roughly), _LIKELY)[:_LIKELY]
        counts = self.first[row + 1] - self.first[row]
        starts = np.append(0, np.cumsum(counts)[:-1])
        places = np.repeat(self.first[row] - starts, counts) + np.arange(int(counts.sum()))
        near = self.vectors[places] @ vector
        # The mean of the two nearest texts: one alone is often near by accident.
        order = np.lexsort((-near, np.repeat(np.arange(len(row)), counts)))
        second = np.where(counts > 1, starts + 1, starts)
        means = (near[order][starts] + near[order][second]) / 2
        return row, np.maximum(means, 0).astype(np.float32)

    def _candidate(
        self, place: int, score: float, terms: Mapping[str, str], vector: Vectors | None
    ) -> RouteCandidate:
        has = [
            (len(posting.agents), word)
            for term, word in terms.items()
            if (posting := self.postings.get(term)) is not None and place in posting.agents
        ]
        begin, end = int(self.examples[place]), int(self.first[place + 1])
        nearest = ""
        if vector is not None and self.vectors is not None and begin < end:
            nearest = self.texts[begin + int(np.argmax(self.vectors[begin:end] @ vector))]
        return RouteCandidate(
            agent=self.specs[place].label,
            score=round(score / 2, 4),
            words=tuple(dict.fromkeys(word for _, word in sorted(has, key=itemgetter(0))))[
                :SHORTLIST
            ],
            near_example=nearest,
        )


def _postings(words: Sequence[Counter[str]]) -> dict[str, _Posting]:
    having: defaultdict[str, list[int]] = defaultdict(list)
    for place, counted in enumerate(words):
        for word in counted:
            having[word].append(place)
    lengths = np.array([counted.total() for counted in words], np.float32)
    share = 1 - _LENGTH + _LENGTH * lengths / max(float(lengths.mean()) if words else 0, 1)
    found: dict[str, _Posting] = {}
    for word, places in having.items():
        row = np.array(places, np.int32)
        count = np.array([words[place][word] for place in places], np.float32)
        rarity = np.log1p((len(words) - len(row) + 0.5) / (len(row) + 0.5))
        gives = rarity * count * (_SATURATION + 1) / (count + _SATURATION * share[row])
        found[word] = _Posting(row, gives.astype(np.float32))
    return found


def _terms(text: str) -> dict[str, str]:
    """The words of a message that tell something, as the index has them, and as they were said."""
    said = [word for word in asked(text[:_LONGEST]) if word not in _COMMON]
    return {term: word for word in said for term in keywords(word)}


def _scaled(scores: Scores) -> Scores:
    top = float(scores.max()) if len(scores) else 0.0
    return (np.maximum(scores, 0) / (top if top > 0 else 1)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Router:
    """Routes messages to the agents that owners have published."""

    embedder: Embedder | None = None
    side: SideRequests | None = None
    """Who asks a model when words do not decide; nobody is asked without."""
    _known: dict[str, AgentIndex] = field(default_factory=dict[str, AgentIndex])
    """By owner."""
    _building: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def route(
        self, database: Database, owner: str, text: str, needs: Sequence[str] = ()
    ) -> Routing:
        """Which of an owner's agents a message is for, and why."""
        if is_small_talk(text):
            return routed(())
        index = await self._index(database, owner)
        routing = routed(index.find(text, await self._vector(text, index), needs))
        if not routing.unsure:
            return routing
        return chosen(routing, await self._ask(owner, text, index, routing))

    async def _index(self, database: Database, owner: str) -> AgentIndex:
        revision = await database.read(lambda tx: agents.revision(tx, owner))
        known = self._known.get(owner)
        if known is not None and known.revision == revision and self._whole(known):
            return known
        async with self._building:
            # Whoever waited here finds what the one before has made.
            known = self._known.get(owner)
            if known is None or known.revision < revision or not self._whole(known):
                self._known[owner] = await self._built(database, owner, known)
            return self._known[owner]

    def _whole(self, index: AgentIndex) -> bool:
        return self.embedder is None or index.vectors is not None

    async def _built(self, database: Database, owner: str, known: AgentIndex | None) -> AgentIndex:
        def read(tx: Transaction) -> tuple[int, list[AgentSpec], Mapping[str, Sequence[str]]]:
            found = agents.published(tx, owner)
            return agents.revision(tx, owner), found, agents.learned(tx, owner)

        revision, specs, learned = await database.read(read)
        index = await asyncio.to_thread(AgentIndex.of, revision, specs, learned)
        return index.embedded(await self._vectors(index.texts, known))

    async def _vectors(self, texts: Sequence[str], known: AgentIndex | None) -> Vectors | None:
        """The vectors of texts; those that are known are not made again."""
        if self.embedder is None or not texts:
            return None
        made: dict[str, Vectors] = {}
        if known is not None and known.vectors is not None:
            made = dict(zip(known.texts, known.vectors, strict=True))
        missing = [text for text in dict.fromkeys(texts) if text not in made]
        try:
            if missing:
                found = await self.embedder.documents(missing)
                made |= dict(zip(missing, found, strict=True))
        except EmbedderFailed as error:
            log.warning("messages are routed by words alone: %s", error)
            return None
        return np.array([made[text] for text in texts], np.float32)

    async def _vector(self, text: str, index: AgentIndex) -> Vectors | None:
        if self.embedder is None or index.vectors is None:
            return None
        asked_for = text[:_LONGEST]
        if isinstance(self.embedder, QuickEmbedder):
            at_once = self.embedder.query_at_once(asked_for)
            if at_once is not None:
                return at_once
        try:
            return await self.embedder.query(asked_for)
        except EmbedderFailed as error:
            log.warning("a message is routed by words alone: %s", error)
            return None

    async def _ask(self, owner: str, text: str, index: AgentIndex, routing: Routing) -> str:
        """What a model answers that is asked to choose; nothing if there is none that could."""
        try:
            # A small model chooses worse than the words do.
            if self.side is None or small(self.side.models.choices(None)[0].name):
                return ""
            about = {spec.label: spec.description for spec in index.specs}
            shown = [(each.agent, about[each.agent]) for each in routing.candidates]
            told, words = question(text[:_LONGEST], shown)
            request = SideRequest(instructions=told, words=words, most=_ANSWER)
            return (await self.side.run(owner, request)).text
        except LraError as error:
            log.warning("no model chooses an agent: %s", error)
            return ""
