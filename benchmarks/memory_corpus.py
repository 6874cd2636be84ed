"""Memories and questions that are made up, as many as one likes, and an embedder for them.

Words are drawn so that a few are in every other memory and most are rare, as in any language.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
from numpy.typing import NDArray

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import MemoryDraft, MemoryKind
from long_running_agents.memory.embedding.base import Vectors, unit

VOCABULARY = 20_000
SHORTEST, LONGEST = 8, 30
SESSION = 20
DIMENSIONS = 256
START = datetime(2020, 1, 1, tzinfo=UTC)
ACTORS = ("Mara", "Joon")
_SYLLABLES = [f"{first}{second}" for first, second in product("bdfgklmnprstvz", "aeiou")]
_FLATTER = 2.7
"""Added to the rank in Zipf's law, so that the commonest word is in a third of the memories."""


def vocabulary() -> list[str]:
    """All words there are, the commonest first."""
    chosen = np.random.default_rng(1)
    made: dict[str, None] = {}
    while len(made) < VOCABULARY:
        made["".join(chosen.choice(_SYLLABLES, chosen.integers(2, 5)))] = None
    return list(made)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A language, and texts in it."""

    words: list[str]
    frequency: NDArray[np.float64]

    @classmethod
    def make(cls) -> "Corpus":
        """The same language every time."""
        weights = 1 / (np.arange(VOCABULARY) + _FLATTER)
        return cls(vocabulary(), weights / weights.sum())

    def texts(self, count: int, seed: int) -> Iterator[str]:
        """Texts, the same ones for the same seed."""
        chosen = np.random.default_rng(seed)
        lengths = chosen.integers(SHORTEST, LONGEST + 1, count)
        drawn = chosen.choice(VOCABULARY, int(lengths.sum()), p=self.frequency)
        for numbers in np.split(drawn, np.cumsum(lengths)[:-1]):
            yield " ".join([self.words[number] for number in numbers])

    def drafts(self, count: int, first: int, seed: int) -> list[MemoryDraft]:
        """Turns of conversations, two people in sessions of twenty, an hour apart."""
        return [
            MemoryDraft(
                content=text,
                kind=MemoryKind.CONVERSATION,
                actor=ACTORS[number % 2],
                source="conversation",
                session_id=SessionId(f"session-{number // SESSION}"),
                event_at=START + timedelta(minutes=3 * number),
            )
            for number, text in enumerate(self.texts(count, seed), first)
        ]

    def questions(self, count: int, seed: int) -> list[str]:
        """Questions about texts: some of one's words, a name, now and then a month."""
        chosen = np.random.default_rng(seed)
        asked: list[str] = []
        for text in self.texts(count, seed):
            said = text.split()
            about = chosen.choice(said, min(4, len(said)), replace=False)
            who = f" did {chosen.choice(ACTORS)}" if chosen.random() < 1 / 2 else ""
            when = " in May" if chosen.random() < 1 / 10 else ""
            asked.append(f"What{who} {' '.join(about)}{when}?")
        return asked


class WordVectors:
    """Embeds a text as the mean of its words' random vectors."""

    space = "benchmark:word-vectors:1"
    dimensions = DIMENSIONS

    def __init__(self, corpus: Corpus) -> None:
        chosen = np.random.default_rng(2)
        self._rows = {word: row for row, word in enumerate(corpus.words)}
        # Rare words say more, so they have longer vectors.
        rarity = np.log(1 / corpus.frequency)[:, None].astype(np.float32)
        self._vectors = chosen.standard_normal((VOCABULARY, DIMENSIONS), np.float32) * rarity

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return self.embedded(texts)

    async def query(self, text: str) -> Vectors:
        """The vector of a question."""
        return self.embedded([text])[0]

    def query_at_once(self, text: str) -> Vectors:
        """The same, as the embedder in the box has it."""
        return self.embedded([text])[0]

    async def close(self) -> None:
        """There is nothing to let go of."""

    def embedded(self, texts: Sequence[str]) -> Vectors:
        """One row per text, at once."""
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        for place, text in enumerate(texts):
            said = text.lower().replace("?", "").split()
            rows = [self._rows[word] for word in said if word in self._rows]
            if rows:
                found[place] = self._vectors[rows].sum(axis=0)
        return unit(found)
