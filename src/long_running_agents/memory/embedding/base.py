"""What an embedder is, and what all of them do alike."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""One vector ``(d,)`` or one row per text ``(n, d)``; of length one, or zero for an empty text."""


class Embedder(Protocol):
    """Turns texts into vectors, so that texts of like meaning lie close together."""

    @property
    def space(self) -> str:
        """Model, version and pooling in one word; vectors of two spaces are never compared."""
        ...

    @property
    def dimensions(self) -> int | None:
        """How many numbers a vector has; None until a server has answered once."""
        ...

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in the order of the texts.

        Raises:
            EmbedderFailed: There are no vectors; the hint says what to change.
        """
        ...

    async def query(self, text: str) -> Vectors:
        """The vector of a question, to be compared with those of documents.

        Raises:
            EmbedderFailed: There is no vector; the hint says what to change.
        """
        ...

    async def close(self) -> None:
        """Let go of what is held. Whoever asks again afterwards may wait for it to load again."""
        ...


@runtime_checkable
class QuickEmbedder(Protocol):
    """An embedder that often has a vector at hand, so that nobody has to wait for it."""

    def query_at_once(self, text: str) -> Vectors | None:
        """The vector of a question; None when it takes longer than changing threads would."""
        ...


def unit(vectors: Vectors) -> Vectors:
    """Scale each vector to length one; a zero vector stays one."""
    # In double precision: the square of a very short vector would else be zero.
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return np.ascontiguousarray(wide / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def well_formed(text: str) -> str:
    """A text that can be encoded: half a surrogate pair, as cut text may hold, becomes '?'."""
    return text.encode("utf-8", "replace").decode("utf-8")
