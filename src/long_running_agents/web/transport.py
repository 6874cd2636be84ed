"""The port of whoever carries a request out: one request, to one address that was checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from long_running_agents.addresses import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ask, and whom."""

    target: Target
    address: str
    """Where to connect to, whatever the name means by then."""
    path: str
    """Path and query, in ASCII, beginning with a slash."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    size: int
    """Bytes of the body to take, once they are unpacked."""

    @property
    def url(self) -> str:
        """The URL in its plain form: nothing in it can be read in two ways."""
        host = f"[{self.target.host}]" if ":" in self.target.host else self.target.host
        return f"{self.target.scheme}://{host}:{self.target.port}{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters; of two with one name, the first."""
    body: bytes
    """Unpacked."""
    cut: bool = False
    """Whether there was more."""


class Transport(Protocol):
    """Carries a request out."""

    async def send(self, request: Request) -> Answer:
        """Ask, and follow no redirect.

        Raises:
            Unavailable: There was no answer, or none that can be read.
        """
        ...
