"""llama.cpp in this process, through xllamacpp."""

import json
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol, cast

import httpx2
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import CorruptData, NotConfigured, Unavailable
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Finished,
    Json,
    Piece,
    Prompt,
    PromptRefused,
    Said,
    Words,
)
from long_running_agents.models.local.resident import IDLE_AFTER, ResidentEngine
from long_running_agents.models.local.worker import Hear

_BATCH = 256
"""Tokens of a prompt that are read between two chances to stop."""


class _Server(Protocol):
    """What we use of xllamacpp's server, which has no types of its own."""

    listening_address: str

    def handle_chat_completions(
        self, request: Json, callback: Callable[[Json], bool], /
    ) -> object: ...


class LlamaEngine(ResidentEngine[_Server]):
    """Runs one file of weights.

    Args:
        path: The weights, as GGUF.
        name: What to call the model; the file's name if unset.
        context: The most tokens a prompt and its answer may have together.
        threads: How many threads compute. Unset means all cores but one: llama.cpp's threads wait
            for each other in a busy loop, and one that has to share its core slows all of them.
        idle_after: Seconds without a prompt after which the memory is let go of; None means never.
        clock: Measures them.
    """

    extra = "local"
    packages = ("xllamacpp",)

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        context: int = 8192,
        threads: int | None = None,
        idle_after: float | None = IDLE_AFTER,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            path, name=name or path.stem, context=context, idle_after=idle_after, clock=clock
        )
        self._threads = threads or max(1, (os.cpu_count() or 1) - 1)
        self._key = secrets.token_urlsafe(24)

    @override
    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Words as they are made, then how it ended. Closing the generator stops the work."""

        def work(hear: Hear[Json]) -> None:
            self._weights().handle_chat_completions(self._request(prompt), hear)

        reading = _Reading()
        try:
            async with aclosing(self._worker.stream(work)) as chunks:
                async for chunk in chunks:
                    for piece in reading.pieces(chunk):
                        yield piece
        except (ValueError, RuntimeError) as error:
            # llama.cpp's own words about a template or a schema it cannot use.
            raise PromptRefused(str(error)) from error

    @override
    async def count(self, messages: Sequence[Said]) -> int:
        """How many tokens a conversation has."""
        server = await self._worker.do(self._weights)
        try:
            async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
                reply = await client.post(
                    f"{server.listening_address}/v1/chat/completions/input_tokens",
                    json={"messages": _messages(messages)},
                    headers={"Authorization": f"Bearer {self._key}"},
                )
            return int(reply.raise_for_status().json()["input_tokens"])
        except httpx2.HTTPError as error:
            raise Unavailable(f"The tokens could not be counted: {error}.") from error

    @override
    def _load(self) -> _Server:
        if not self._path.is_file():
            raise NotConfigured(
                f"The weights of {self._name} are not here.",
                hint=f"lra models pull {self._name}",
            )
        library = self.library("xllamacpp")
        try:
            return cast("_Server", library.Server(self._parameters(library)))
        except (RuntimeError, ValueError) as error:
            raise CorruptData(
                f"{self._path.name} cannot be loaded: {error}.",
                hint="Remove it and pull it again.",
            ) from error

    def _parameters(self, library: Any) -> Any:
        chosen = library.CommonParams()
        chosen.model.path = str(self._path)
        chosen.n_ctx = self._context
        chosen.n_parallel = 1
        chosen.n_batch = _BATCH
        chosen.cpuparams.n_threads = self._threads
        chosen.cpuparams_batch.n_threads = self._threads
        chosen.warmup = False
        chosen.verbosity = -1
        chosen.use_jinja = True
        # The library listens on loopback as soon as it is there, and would answer anybody.
        chosen.api_keys = [self._key]
        return chosen

    def _request(self, prompt: Prompt) -> Json:
        sampling = prompt.sampling
        request: Json = {
            "messages": _messages(prompt.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            # Reports between batches are what lets a long prompt be stopped while it is read.
            "return_progress": True,
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or None,
            "presence_penalty": sampling.presence_penalty,
            "frequency_penalty": sampling.frequency_penalty,
        }
        if prompt.schema is not None:
            request["grammar"] = self.library("xllamacpp").json_schema_to_grammar(
                _tight(prompt.schema)
            )
        return {name: value for name, value in request.items() if value is not None}


def _tight(schema: Json) -> str:
    # Small models love to indent, and each blank is a token.
    spacing = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return json.dumps({**schema, "x-guidance": {**spacing, "lenient": True}})


def _messages(messages: Sequence[Said]) -> list[Json]:
    return [{"role": message.role, "content": message.text} for message in messages]


class _Reading:
    """Turns the library's chunks into pieces."""

    def __init__(self) -> None:
        self._reason = "stop"

    def pieces(self, chunk: Json) -> Iterator[Piece]:
        """What a chunk adds."""
        if error := chunk.get("error"):
            raise _failure(cast("Json", error))
        choices: list[Json] = chunk.get("choices") or []
        for choice in choices:
            self._reason = str(choice.get("finish_reason") or self._reason)
            delta: Json = choice.get("delta") or {}
            if text := delta.get("content"):
                yield Words(str(text))
        if not choices and (usage := chunk.get("usage")):
            yield _finished(self._reason, cast("Json", usage))


def _finished(reason: str, usage: Json) -> Finished:
    details: Json = usage.get("prompt_tokens_details") or {}
    return Finished(
        reason="length" if reason == "length" else "stop",
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(details.get("cached_tokens") or 0),
    )


def _failure(error: Json) -> Exception:
    if error.get("type") == "exceed_context_size_error":
        return ContextExceeded(int(error["n_prompt_tokens"]), int(error["n_ctx"]))
    return PromptRefused(str(error.get("message") or error))
