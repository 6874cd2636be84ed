"""An embedder that knows no meaning: texts are close when they share words."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.base import Vectors, unit, well_formed
from long_running_agents.testing.script import estimate_tokens

DIMENSIONS = 64

_WORD = re.compile(r"\w+|[^\w\s]")


class FakeEmbedder:
    """Hashes words into a small space; the same text has the same vector everywhere.

    Args:
        space: The name of its space.
        failures: How many of the next calls fail; None means all of them.
    """

    def __init__(self, *, space: str = "fake:words-64:1", failures: int | None = 0) -> None:
        self._space = space
        self.failures = failures
        """How many of the next calls fail; None means all of them."""
        self.asked: list[tuple[str, ...]] = []
        """The texts of each call, the failed ones included."""
        self.closed = False
        """Whether it was closed."""

    @property
    def space(self) -> str:
        """As it was named."""
        return self._space

    @property
    def dimensions(self) -> int:
        """Always the same."""
        return DIMENSIONS

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text.

        Raises:
            EmbedderFailed: It was told to fail.
        """
        self.asked.append(tuple(texts))
        if self.failures is None or self.failures > 0:
            self.failures = None if self.failures is None else self.failures - 1
            raise EmbedderFailed("The fake embedder was told to fail.", hint="Set its failures.")
        return hashed(texts)

    async def query(self, text: str) -> Vectors:
        """The same as for a document."""
        return (await self.documents([text]))[0]

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def hashed(texts: Sequence[str]) -> Vectors:
    """One row per text: each word and each sign counts at the place of its hash."""
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in _WORD.findall(well_formed(text).lower()):
            row[hashlib.blake2b(word.encode(), digest_size=1).digest()[0] % DIMENSIONS] += 1
    return unit(rows)


LONGEST = 1024
"""Tokens of one text, as in a small model; a longer one is refused."""


def texts_in(raw: bytes) -> list[str]:
    """The texts of a request.

    Raises:
        ValueError: It is none, or a text is blank or too long.
    """
    try:
        body: Any = json.loads(raw)
    except ValueError:
        body = None
    given: Any = cast("dict[str, Any]", body).get("input") if isinstance(body, dict) else None
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise ValueError("The body is not an embedding request: expected {'input': ['…', …]}.")
    found = cast("list[object]", texts)
    for text in found:
        if not isinstance(text, str) or not text.strip():
            raise ValueError("A text to embed must not be blank.")
        if estimate_tokens(len(text)) > LONGEST:
            raise ValueError(f"This model's maximum context length is {LONGEST} tokens.")
    return cast("list[str]", found)


def answer(texts: list[str], raw: bytes) -> bytes:
    """The vectors in the shape of the protocol, the last text first: only the index counts."""
    rows = hashed(texts).tolist()
    data = [
        {"object": "embedding", "index": index, "embedding": rows[index]}
        for index in reversed(range(len(rows)))
    ]
    used = sum(estimate_tokens(len(text)) for text in texts)
    return json.dumps(
        {
            "object": "list",
            "data": data,
            "model": json.loads(raw).get("model", "scripted"),
            "usage": {"prompt_tokens": used, "total_tokens": used},
        }
    ).encode()
