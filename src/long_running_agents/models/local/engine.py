"""What a local model is to the rest: text in, pieces of text out, one prompt at a time."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation, as plain text."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is chosen, and when to stop. Unset leaves it to the engine."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    presence_penalty: float | None = None
    frequency_penalty: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What an engine is asked to go on from."""

    messages: tuple[Said, ...]
    sampling: Sampling = Sampling()
    schema: Json | None = None
    """The JSON schema that the text has to satisfy."""


@dataclass(frozen=True, slots=True)
class Words:
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


Piece = Words | Finished


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

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def context(self) -> int:
        """The most tokens a prompt and its answer may have together."""
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Words as they are made, then how it ended. Closing the generator stops the work.

        Raises:
            ContextExceeded: The prompt does not fit.
            PromptRefused: The prompt cannot be used.
        """
        ...

    async def count(self, messages: Sequence[Said]) -> int:
        """How many tokens a conversation has."""
        ...

    async def unload(self) -> None:
        """Let go of the memory; the next prompt loads again."""
        ...
