"""What the engines of this process share: a thread of their own, and weights that come and go."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import NotConfigured
from long_running_agents.models.local.engine import Piece, Prompt, Said
from long_running_agents.models.local.worker import Worker
from long_running_agents.models.names import installed

IDLE_AFTER = 600.0
"""Seconds without a prompt after which weights are let go of, unless someone says otherwise."""

T = TypeVar("T")


class ResidentEngine(ABC, Generic[T]):
    """Holds weights in this process while they are needed.

    All work happens on one thread of the engine's own, so prompts wait for each other there, and
    the event loop is never held up.

    Args:
        path: Where the weights are.
        name: What to call the model.
        context: The most tokens a prompt and its answer may have together.
        idle_after: Seconds without a prompt after which the memory is let go of; None means never.
        clock: Measures them.
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
        self._name = name
        self._context = context
        self._held: T | None = None
        self._worker = Worker(name, self._drop, idle_after=idle_after, clock=clock)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def context(self) -> int:
        """The most tokens a prompt and its answer may have together."""
        return self._context

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._held is not None

    @abstractmethod
    def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Words as they are made, then how it ended. Closing the generator stops the work."""

    @abstractmethod
    async def count(self, messages: Sequence[Said]) -> int:
        """How many tokens a conversation has."""

    async def unload(self) -> None:
        """Let go of the memory; the next prompt loads again."""
        await self._worker.rest()

    @classmethod
    def require(cls) -> None:
        """See that everything is installed, before anyone waits for an answer.

        Raises:
            NotConfigured: It is not; the hint is the command that mends it.
        """
        for package in cls.packages:
            if not installed(package):
                raise cls._missing(package)

    @classmethod
    def library(cls, name: str) -> Any:
        """A package that the engine needs. None of them has types that a strict checker could use.

        Raises:
            NotConfigured: It is not installed.
        """
        try:
            return import_module(name)
        except ImportError as error:
            raise cls._missing(name.partition(".")[0]) from error

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
