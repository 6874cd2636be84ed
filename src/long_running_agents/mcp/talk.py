"""What a server and we say to each other: the shapes, without the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool of a server."""

    name: str
    """As the model knows it."""
    tool: str
    """As the server knows it."""
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A tool that is not offered."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The tools of a server."""

    offers: tuple[Offer, ...] = ()
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A call that ended well."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that did not; the words are the server's."""

    text: str


@dataclass(frozen=True, slots=True)
class CutOff:
    """A call that may or may not have taken effect."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotRun:
    """A call that never reached the server."""

    reason: str


Answer = Told | Failed | CutOff | NotRun


class Talk(Protocol):
    """An open conversation with a server."""

    @property
    def protocol(self) -> str:
        """The version of the protocol that is spoken."""
        ...

    @property
    def over(self) -> bool:
        """Whether the other end has gone."""
        ...

    @property
    def stale(self) -> bool:
        """Whether the server said that its tools have changed."""
        ...

    async def tools(self) -> Listing:
        """Ask for the tools."""
        ...

    async def call(self, tool: str, args: Mapping[str, Any]) -> Answer:
        """Call a tool by its own name."""
        ...

    async def close(self) -> None:
        """End it, and whatever was started for it."""
        ...
