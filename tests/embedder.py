"""An embedder that knows no meaning, here and over HTTP: texts that share words are close."""

import asyncio
import hashlib
import json
import re
from collections import deque

import numpy as np
from starlette.routing import Route

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.base import unit, well_formed
from long_running_agents.testing import ScriptedServer
from long_running_agents.testing.script import estimate_tokens
from long_running_agents.testing.scripted_app import _error, _plain

DIMENSIONS = 64

_WORD = re.compile(r"\w+|[^\w\s]")


class FakeEmbedder:
    """Hashes words into a small space; the same text has the same vector everywhere.

    Args:
        space: The name of its space.
        failures: How many of the next calls fail; None means all of them.
    """

    def __init__(self, *, space="fake:words-64:1", failures=0):
        self._space = space
        self.failures = failures
        """How many of the next calls fail; None means all of them."""
        self.asked = []
        """The texts of each call, the failed ones included."""
        self.closed = False
        """Whether it was closed."""

    @property
    def space(self):
        """As it was named."""
        return self._space

    @property
    def dimensions(self):
        """Always the same."""
        return DIMENSIONS

    async def documents(self, texts):
        """One row per text.

        Raises:
            EmbedderFailed: It was told to fail.
        """
        self.asked.append(tuple(texts))
        if self.failures is None or self.failures > 0:
            self.failures = None if self.failures is None else self.failures - 1
            raise EmbedderFailed("The fake embedder was told to fail.", hint="Set its failures.")
        return hashed(texts)

    async def query(self, text):
        """The same as for a document."""
        return (await self.documents([text]))[0]

    async def close(self):
        """Remember that it was closed."""
        self.closed = True


def hashed(texts):
    """One row per text: each word and each sign counts at the place of its hash."""
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in _WORD.findall(well_formed(text).lower()):
            row[hashlib.blake2b(word.encode(), digest_size=1).digest()[0] % DIMENSIONS] += 1
    return unit(rows)


LONGEST = 1024
"""Tokens of one text, as in a small model; a longer one is refused."""


def texts_in(raw):
    """The texts of a request.

    Raises:
        ValueError: It is none, or a text is blank or too long.
    """
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    given = body.get("input") if isinstance(body, dict) else None
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise ValueError("The body is not an embedding request: expected {'input': ['…', …]}.")
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError("A text to embed must not be blank.")
        if estimate_tokens(len(text)) > LONGEST:
            raise ValueError(f"This model's maximum context length is {LONGEST} tokens.")
    return texts


def answer(texts, raw):
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


class EmbeddingServer(ScriptedServer):
    """A scripted server that embeds, too: the failures of its script are served, its words not."""

    def __init__(self, script, **options):
        super().__init__(script, **options)
        self._embedded = deque(maxlen=1000)
        route = Route("/v1/embeddings", self._embed, methods=["POST"])
        self._app._asgi.router.routes.append(route)

    @property
    def embedding_requests(self):
        """The bodies of the embedding requests received, the oldest first."""
        return [json.loads(raw) for raw in self._embedded]

    async def _embed(self, request):
        if not self._app._allowed(request):
            return _error(401, "Incorrect API key provided.", code="invalid_api_key")
        raw = await request.body()
        self._embedded.append(raw)
        try:
            texts = texts_in(raw)
        except ValueError as error:
            return _error(400, str(error))
        asked = [{"role": "user", "content": "\n".join(texts)}]
        reply = self._app._script.reply_for(asked, self._app._served)
        await asyncio.sleep(reply.delay)
        return _plain(reply.failure, answer(texts, raw))
