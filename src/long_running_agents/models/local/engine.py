"""What a local model is to the rest: text in, pieces of text out, one prompt at a time."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from typing_extensions import override

from long_running_agents.clock import SystemClock
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import NotConfigured
from long_running_agents.models.chat_protocol import Json, Sampling
from long_running_agents.models.embedded import lacking_library
from long_running_agents.models.names import installed


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """One message of a conversation, as plain text."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrompt:
    """What an engine is asked to go on from."""

    messages: tuple[PlainMessage, ...]
    sampling: Sampling = field(default_factory=Sampling)
    schema: Json | None = None
    """The JSON schema that the text has to satisfy."""

    def told(self) -> list[Json]:
        """The messages as chat templates take them."""
        return [{"role": message.role, "content": message.text} for message in self.messages]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A few more words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of a text, and what it took."""

    reason: Literal["stop", "length", "tool_calls"]
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    """Those of the prompt that were known from before."""


Piece = TextPiece | Finished


class ContextExceeded(Exception):
    """The prompt is longer than what the model can look at."""

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(
            f"This model's maximum context length is {context} tokens, and the messages have"
            f" {tokens}. Please shorten them."
        )
        self.tokens = tokens
        self.context = context


class PromptRefused(Exception):
    """The engine cannot work with this prompt, and never will."""


class TextEngine(Protocol):
    """Runs a model. It loads when first asked, and may let go of its memory when idle."""

    name: str
    """The model's name."""
    context: int
    """The most tokens a prompt and its answer may have together."""

    def stream(self, prompt: LocalPrompt) -> AsyncGenerator[Piece, None]:
        """Words as they are made, then how it ended. Closing the generator stops the work.

        Raises:
            ContextExceeded: The prompt does not fit.
            PromptRefused: The prompt cannot be used.
        """
        ...

    async def unload(self) -> None:
        """Let go of the memory; the next prompt loads again."""
        ...


T = TypeVar("T")
Told = TypeVar("Told")

Hear: TypeAlias = Callable[[Told], bool]
"""Takes one more piece from the thread; True means that nobody wants the rest."""


IDLE_AFTER = 600.0
"""Seconds without a prompt after which weights are let go of, unless someone says otherwise."""


class ResidentEngine(TextEngine, ABC, Generic[T]):
    """Holds weights in this process while they are needed, until they are idle for too long.

    All work happens on one thread of the engine's own, so prompts wait for each other there, and
    the event loop is never held up.
    """

    extra: ClassVar[str]
    """The extra of this package that brings what the engine needs."""
    packages: ClassVar[tuple[str, ...]]
    """What it imports."""

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        context: int,
        idle_after: float | None,
        clock: Clock | None,
    ) -> None:
        self._path = path
        self.name = name
        self.context = context
        self._held: T | None = None
        self._idle_after = idle_after
        self._clock = clock or SystemClock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"model-{name}")
        self._asked = 0
        self._resting: asyncio.Task[None] | None = None

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._held is not None

    @override
    async def unload(self) -> None:
        self._stay_awake()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._drop)

    async def _told(self, work: Callable[[Hear[Told]], None]) -> AsyncGenerator[Told, None]:
        """What work on the thread tells, piece by piece; closing the generator tells it to stop."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[tuple[Told] | None] = asyncio.Queue()
        stop = threading.Event()

        def hear(piece: Told) -> bool:
            if not stop.is_set():
                try:
                    loop.call_soon_threadsafe(heard.put_nowait, (piece,))
                except RuntimeError:
                    # The loop is closed: nobody will ever hear the rest.
                    stop.set()
            return stop.is_set()

        def run() -> None:
            # Those who left while they waited their turn want nothing.
            if not stop.is_set():
                work(hear)

        self._asked += 1
        self._stay_awake()
        running = loop.run_in_executor(self._thread, run)
        running.add_done_callback(lambda done: _over(done, heard))
        try:
            while (piece := await heard.get()) is not None:
                yield piece[0]
            await running
        finally:
            stop.set()
            self._asked -= 1
            if self._asked == 0 and self._idle_after is not None:
                self._resting = loop.create_task(self._unload_after(self._idle_after))

    def _stay_awake(self) -> None:
        if self._resting is not None and self._resting is not asyncio.current_task():
            self._resting.cancel()
        self._resting = None

    async def _unload_after(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self.unload()

    @classmethod
    def require(cls) -> None:
        """See that everything is installed, before anyone waits for an answer."""
        for package in cls.packages:
            if not installed(package):
                raise cls._missing(package)

    @classmethod
    def library(cls, name: str) -> Any:
        """A package that the engine needs; none has types that a strict checker could use."""
        try:
            return import_module(name)
        except ImportError as error:
            package = name.partition(".")[0]
            raise lacking_library(package, error) or cls._missing(package) from error

    @classmethod
    def _missing(cls, package: str) -> NotConfigured:
        return NotConfigured(
            f"These weights need {package}, which is not installed.",
            hint=f"pip install 'long-running-agents[{cls.extra}]'",
        )

    def _weights(self) -> T:
        """The weights, loaded if need be; to be called on the thread."""
        if self._held is None:
            self._held = self._load()
        return self._held

    def _drop(self) -> None:
        self._held = None

    @abstractmethod
    def _load(self) -> T:
        """Read the weights from the disk."""


def _over(done: "asyncio.Future[None]", heard: "asyncio.Queue[Any]") -> None:
    if not done.cancelled():
        # Looked at here too, so that a stream nobody reads to its end leaves no complaint behind.
        done.exception()
    heard.put_nowait(None)
