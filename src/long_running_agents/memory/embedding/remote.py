"""An embedder whose vectors a server or a provider computes: batches, retries, prefixes."""

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Protocol, TypeAlias, cast

import httpx2
import numpy as np

from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.retry_policy import RetryPolicy
from long_running_agents.errors import EmbedderFailed, LimitReached
from long_running_agents.memory.embedding.base import Vectors, unit, well_formed

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
    """Asks a source in batches, and checks what it answers."""

    def __init__(self, space: str, source: Source, *, advice: str) -> None:
        self.space = space
        self.dimensions: int | None = None
        """What the first answer had."""
        self.spend: Callable[[int], Awaitable[None]] | None = None
        """Pays for so many tokens, or refuses to with `LimitReached`."""
        self._source = source
        self._advice = advice

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return await self._embed(texts, "document")

    async def query(self, text: str) -> Vectors:
        """The vector of a question."""
        return (await self._embed([text], "query"))[0]

    async def close(self) -> None:
        """Nothing is held: whoever made the client closes it."""

    async def _embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if texts and self.dimensions is None and not any(text.strip() for text in texts):
            # Even a zero vector needs its length, and blank texts are refused by most servers.
            await self._ask([_PROBE], purpose)
        told = {place: sendable(text) for place, text in enumerate(texts) if text.strip()}
        places = list(told)
        answers = [
            await self._ask([told[place] for place in places[start : start + BATCH]], purpose)
            for start in range(0, len(places), BATCH)
        ]
        rows = np.zeros((len(texts), self.dimensions or 0), np.float32)
        if answers:
            rows[places] = np.concatenate(answers)
        return rows

    async def _ask(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if self.spend is not None:
            try:
                await self.spend(estimate_tokens(sum(map(len, texts))))
            except LimitReached as error:
                raise EmbedderFailed(f"{self.space} was not asked: {error.message}.") from error
        rows = await self._source.embed(texts, purpose)
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:  # noqa: PLR2004 - rows, columns
            raise self._wrong(f"{len(rows)} vectors for {len(texts)} texts")
        if not np.isfinite(rows).all():
            raise self._wrong("numbers that are none")
        width = rows.shape[1]
        if self.dimensions is None:
            self.dimensions = width
        elif width != self.dimensions:
            raise self._wrong(f"vectors of {width} numbers, and of {self.dimensions} before")
        return unit(rows)

    def _wrong(self, what: str) -> EmbedderFailed:
        return EmbedderFailed(f"{self.space} answered with {what}.", hint=self._advice)


def sendable(text: str, longest: float = math.inf) -> str:
    """The start of a text, as much of it as a model may read."""
    return well_formed(text[: int(min(LONGEST, longest))]).strip()


_REPEATED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REFUSED_TEXT = frozenset({400, 413, 422, 500})
"""Some servers are broken by a long text rather than refuse it."""
_TOO_LONG = re.compile(
    r"context|too (?:long|large|many tokens)|(?:maximum|max).{0,20}(?:tokens|length)"
    r"|(?:input|token).{0,40}(?:exceed|larger|longer)|batch size",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EmbedRefusal:
    """An answer that holds no vectors."""

    reason: str
    status: int | None = None
    """None when the connection failed."""
    asked: float | None = None
    """The seconds the server wants us to wait."""


@dataclass(frozen=True, slots=True)
class Shorter:
    """Send less text."""


def remedy(refusal: EmbedRefusal, attempt: int, policy: RetryPolicy) -> float | Shorter | None:
    """Decide after a failed request: seconds of backoff, less text, or None to give up."""
    if refusal.status in _REFUSED_TEXT and _TOO_LONG.search(refusal.reason):
        return Shorter()
    if refusal.status is not None and refusal.status not in _REPEATED:
        return None
    return policy.backoff(attempt, refusal.asked)


def seconds_asked(header: str | None, now: datetime) -> float | None:
    """What a Retry-After asks for: seconds, or a moment."""
    if header is None:
        return None
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError):
        moment = parsedate_to_datetime(header)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    return None


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The words before a document and before a question."""

    document: str = ""
    query: str = ""


_SEARCHING = "Represent this sentence for searching relevant passages: "
_KNOWN = (
    ("nomic-embed", Prefixes("search_document: ", "search_query: ")),
    (r"(^|[-_/])e5-", Prefixes("passage: ", "query: ")),
    ("embedding-?gemma", Prefixes("title: none | text: ", "task: search result | query: ")),
    ("mxbai-embed|arctic-embed", Prefixes(query=_SEARCHING)),
)


def prefixes_of(model: str) -> Prefixes:
    """What a model was trained to read first, as far as its name tells."""
    name = model.lower()
    return next((found for rule, found in _KNOWN if re.search(rule, name)), Prefixes())


_SHORTEST = 200
"""A server that refuses so little text refuses something else."""
_LARGE = 50_000
"""An answer of more bytes is read in a thread."""
PATIENCE: Mapping[Purpose, RetryPolicy] = {
    "document": RetryPolicy(timeout=60.0, retries=3, longest_wait=30.0),
    # Somebody waits for the answer, and keywords find memories too.
    "query": RetryPolicy(timeout=10.0, retries=1, longest_wait=2.0),
}
"""How long we wait for what."""


class ServerSource:
    """Asks one model at one server.

    Messages call it by its place, which holds nothing secret; whoever made the client closes it.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        place: str,
        client: httpx2.AsyncClient,
        clock: Clock,
        *,
        api_key: str = "",
        advice: str,
        patience: Mapping[Purpose, RetryPolicy] = PATIENCE,
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
        self, text: str, before: str, patience: RetryPolicy, refusal: EmbedRefusal
    ) -> Vectors:
        length = min(len(text), LONGEST) // 2
        while length >= _SHORTEST:
            try:
                return await self._ask([before + sendable(text, length)], patience)
            except _TooLongError as error:
                refusal, length = error.refusal, length // 2
        raise self._failed(refusal.reason)

    async def _ask(self, texts: Sequence[str], patience: RetryPolicy) -> Vectors:
        attempt = 0
        while True:
            answer = await self._post(texts, patience.timeout)
            if not isinstance(answer, EmbedRefusal):
                return await self._read(answer)
            attempt += 1
            match remedy(answer, attempt, patience):
                case Shorter():
                    raise _TooLongError(answer)
                case None:
                    raise self._failed(answer.reason)
                case backoff:
                    await self._clock.sleep(backoff)

    async def _post(self, texts: Sequence[str], seconds: float) -> bytes | EmbedRefusal:
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        body = {"model": self._model, "input": list(texts)}
        try:
            reply = await self._client.post(self._url, json=body, headers=headers, timeout=seconds)
        except httpx2.TimeoutException:
            return EmbedRefusal(f"no answer within {seconds:g} seconds")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return EmbedRefusal(str(error) or type(error).__name__)
        if reply.is_success:
            return reply.content
        return EmbedRefusal(
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
    def __init__(self, refusal: EmbedRefusal) -> None:
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
