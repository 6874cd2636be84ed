"""Vectors from any server with an OpenAI-compatible /embeddings."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import httpx2
import numpy as np

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.patience import (
    Again,
    Patience,
    Refusal,
    Shorter,
    remedy,
    seconds_asked,
)
from long_running_agents.memory.embedding.port import Vectors
from long_running_agents.memory.embedding.prefixes import prefixes_of
from long_running_agents.memory.embedding.remote import LONGEST, Purpose, sendable

_SHORTEST = 200
"""A server that refuses so little text refuses something else."""
_LARGE = 50_000
"""An answer of more bytes is read in a thread."""
PATIENCE: Mapping[Purpose, Patience] = {
    "document": Patience(timeout=60.0, retries=3, longest_wait=30.0),
    # Somebody waits for the answer, and keywords find memories too.
    "query": Patience(timeout=10.0, retries=1, longest_wait=2.0),
}
"""How long we wait for what."""


class ServerSource:
    """Asks one model at one server.

    Args:
        model: The name the server knows it by.
        base_url: The server's address, ending in /v1.
        place: What the address is called in messages, without anything secret.
        client: Speaks HTTP; shared, and closed by whoever made it.
        clock: Waits between attempts.
        api_key: Sent when there is one.
        advice: What a person can do when the server fails.
        patience: How long to wait for what.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        place: str,
        client: httpx2.AsyncClient,
        clock: Clock,
        api_key: str = "",
        advice: str,
        patience: Mapping[Purpose, Patience] = PATIENCE,
    ) -> None:
        self._model = model
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._place = place
        self._client = client
        self._clock = clock
        self._key = api_key
        self._advice = advice
        self._patience = patience
        self._prefixes = prefixes_of(model)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """One row per text.

        Raises:
            EmbedderFailed: The server did not answer, refused, or answered nonsense.
        """
        before = self._prefixes.query if purpose == "query" else self._prefixes.document
        try:
            return await self._ask([before + text for text in texts], self._patience[purpose])
        except _TooLongError as error:
            if len(texts) == 1:
                return await self._shorter(texts[0], before, self._patience[purpose], error.refusal)
        # One text of the batch is too long. The others must not be cut because of it.
        return np.concatenate([await self.embed([text], purpose) for text in texts])

    async def _shorter(
        self, text: str, before: str, patience: Patience, refusal: Refusal
    ) -> Vectors:
        length = min(len(text), LONGEST) // 2
        while length >= _SHORTEST:
            try:
                return await self._ask([before + sendable(text, length)], patience)
            except _TooLongError as error:
                refusal, length = error.refusal, length // 2
        raise self._failed(refusal.reason)

    async def _ask(self, texts: Sequence[str], patience: Patience) -> Vectors:
        attempt = 0
        while True:
            answer = await self._post(texts, patience.timeout)
            if not isinstance(answer, Refusal):
                return await self._read(answer)
            attempt += 1
            match remedy(answer, attempt, patience):
                case Again(wait=wait):
                    await self._clock.sleep(wait)
                case Shorter():
                    raise _TooLongError(answer)
                case None:
                    raise self._failed(answer.reason)

    async def _post(self, texts: Sequence[str], seconds: float) -> bytes | Refusal:
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        body = {"model": self._model, "input": list(texts)}
        try:
            reply = await self._client.post(self._url, json=body, headers=headers, timeout=seconds)
        except httpx2.TimeoutException:
            return Refusal(f"no answer within {seconds:g} seconds")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return Refusal(str(error) or type(error).__name__)
        if reply.is_success:
            return reply.content
        return Refusal(
            f"HTTP {reply.status_code}: {_said(reply.text)}",
            status=reply.status_code,
            asked=seconds_asked(reply.headers.get("retry-after"), self._clock.now()),
        )

    async def _read(self, content: bytes) -> Vectors:
        try:
            if len(content) <= _LARGE:
                return rows_of(content)
            return await asyncio.to_thread(rows_of, content)
        except ValueError as error:
            raise self._failed(f"the answer was not understood: {error}") from error

    def _failed(self, why: str) -> EmbedderFailed:
        # Servers like to repeat the key they refuse.
        told = why.replace(self._key, "…") if self._key else why
        return EmbedderFailed(
            f"The embedding model {self._model} at {self._place} failed: {told.rstrip('. ')}.",
            hint=self._advice,
        )


class _TooLongError(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


def rows_of(content: bytes) -> Vectors:
    """The vectors of an answer, in the order of the texts that were sent.

    Raises:
        ValueError: It is no such answer.
    """
    body: Any = json.loads(content)
    data: Any = cast("dict[str, Any]", body).get("data") if isinstance(body, dict) else None
    if not isinstance(data, list):
        raise ValueError(_said(content.decode(errors="replace")))  # noqa: TRY004 - not a type of ours
    items = cast("list[dict[str, Any]]", data)
    try:
        places = [item.get("index") for item in items]
        if any(place is not None for place in places):
            if sorted(cast("list[int]", places)) != list(range(len(items))):
                raise ValueError(f"its places are {places[:10]}")
            items = sorted(items, key=lambda item: item["index"])
        return np.array([item["embedding"] for item in items], dtype=np.float32)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("it holds no vectors") from error


def _said(text: str) -> str:
    """What an answer says is wrong, in a few words."""
    try:
        body: Any = json.loads(text)
    except ValueError:
        return text[:200]
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and key in body:
            body = cast("dict[str, Any]", body)[key]
    return str(cast("object", body))[:200]
