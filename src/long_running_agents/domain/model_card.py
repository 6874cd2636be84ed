"""What a model at a server turned out to be able to do."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """The findings of one examination."""

    endpoint: str
    """The server's address, or the provider's name where we do not know one."""
    model: str
    """The model's name there."""
    native_tools: bool
    """Whether it calls tools the way the protocol has it."""
    text_tools: bool
    """Whether it calls tools in words; tried only where native calls fail."""
    streaming: bool
    """Whether its words arrive one by one."""
    streamed_calls: bool
    """Whether tool calls arrive in a stream, too."""
    usage: bool
    """Whether it says how many tokens a request took."""
    context_window: int | None
    """Tokens it reads at once as it is served now; None when that is not known."""
    cuts_silently: bool
    """Whether a prompt that is too long loses its beginning without an error."""
    checked_at: datetime

    @property
    def tools(self) -> str:
        """How it calls tools, in a word or two."""
        return "native" if self.native_tools else "in words" if self.text_tools else "none"

    def lines(self) -> list[tuple[str, str]]:
        """The card for a person: what, and what was found."""
        window = "unknown" if self.context_window is None else f"{self.context_window} tokens"
        if self.cuts_silently:
            window += ", and longer prompts lose their beginning without an error"
        return [
            ("tools", self.tools),
            ("streaming", _yes(self.streaming)),
            ("streamed tool calls", _yes(self.streamed_calls)),
            ("usage", "reported" if self.usage else "not reported: it is estimated"),
            ("context window", window),
        ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingCapability:
    """One thing that was refused while the model was at work."""

    endpoint: str
    """The server's address."""
    model: str
    """The model's name there."""
    what: str
    """The ability that is missing."""
    learned_at: datetime
