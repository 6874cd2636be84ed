"""A server as mcp.json describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from long_running_agents.mcp import names

TIMEOUT = 60.0
"""Seconds a call may take unless the file says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of this machine, spoken to by its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its whole environment."""
    cwd: str | None = None

    def __str__(self) -> str:
        # Arguments and variables may hold secrets.
        return self.command


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address, spoken to by streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        scheme, _, rest = self.url.partition("://")
        # What stands before the host or behind the path may be a secret.
        return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server, and what may be done with it."""

    name: str
    way: Program | Endpoint
    disabled: bool = False
    allow: tuple[str, ...] | None = None
    """Patterns of the tools that are offered; None for all."""
    deny: tuple[str, ...] = ()
    """Patterns of tools that are not."""
    require_approval: tuple[str, ...] = ()
    """Patterns of tools that always ask."""
    timeout: float = TIMEOUT
    problem: str = ""
    """Why it cannot be started as it is described; empty when it can."""

    def offers(self, tool: str) -> bool:
        """Whether a tool may be shown to the model."""
        if self.allow is not None and not names.fits(tool, self.allow):
            return False
        return not names.fits(tool, self.deny)

    def asks(self, tool: str) -> bool:
        """Whether a tool runs only after a person agreed."""
        return names.fits(tool, self.require_approval)
