"""An embedder whose vectors are computed elsewhere."""

import math
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.port import Vectors, unit, well_formed

Purpose: TypeAlias = Literal["document", "query"]
"""Some models embed a question otherwise than what it asks for."""

BATCH = 64
"""Texts in one request."""
LONGEST = 8000
"""Characters of a text that are sent; the rest would not fit into most models."""
_PROBE = "length"


class Source(Protocol):
    """Whoever computes the vectors of a few texts, none of them blank."""

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """One row per text, of any length.

        Raises:
            EmbedderFailed: There are no vectors.
        """
        ...


class RemoteEmbedder:
    """Asks a source in batches, and checks what it answers.

    Args:
        space: The name of the model's space.
        source: Computes the vectors.
        advice: What to do when the source answers nonsense.
    """

    def __init__(self, space: str, source: Source, *, advice: str) -> None:
        self._space = space
        self._source = source
        self._advice = advice
        self._dimensions: int | None = None

    @property
    def space(self) -> str:
        """The model, and where it is."""
        return self._space

    @property
    def dimensions(self) -> int | None:
        """What the first answer had."""
        return self._dimensions

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return await self._embed(texts, "document")

    async def query(self, text: str) -> Vectors:
        """The vector of a question."""
        return (await self._embed([text], "query"))[0]

    async def close(self) -> None:
        """Nothing is held: whoever made the client closes it."""

    async def _embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if texts and self._dimensions is None and not any(text.strip() for text in texts):
            # Even a zero vector needs its length, and blank texts are refused by most servers.
            await self._ask([_PROBE], purpose)
        told = {place: sendable(text) for place, text in enumerate(texts) if text.strip()}
        places = list(told)
        answers = [
            await self._ask([told[place] for place in places[start : start + BATCH]], purpose)
            for start in range(0, len(places), BATCH)
        ]
        rows = np.zeros((len(texts), self._dimensions or 0), np.float32)
        if answers:
            rows[places] = np.concatenate(answers)
        return rows

    async def _ask(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        rows = await self._source.embed(texts, purpose)
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:  # noqa: PLR2004 - rows, columns
            raise self._wrong(f"{len(rows)} vectors for {len(texts)} texts")
        if not np.isfinite(rows).all():
            raise self._wrong("numbers that are none")
        width = rows.shape[1]
        if self._dimensions is None:
            self._dimensions = width
        elif width != self._dimensions:
            raise self._wrong(f"vectors of {width} numbers, and of {self._dimensions} before")
        return unit(rows)

    def _wrong(self, what: str) -> EmbedderFailed:
        return EmbedderFailed(f"{self._space} answered with {what}.", hint=self._advice)


def sendable(text: str, longest: float = math.inf) -> str:
    """The start of a text, as much of it as a model may read."""
    return well_formed(text[: int(min(LONGEST, longest))]).strip()
