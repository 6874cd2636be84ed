"""What all of this room share: server specs, tool names, listings, answers, readable text."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from long_running_agents.domain.tool import Claim

LONGEST = 64
"""What the strictest provider takes."""

_INVALID = re.compile(r"[^A-Za-z0-9_-]+")
_INVALID_IN_PATTERN = re.compile(r"[^A-Za-z0-9_*?-]+")
_DIGEST = 8


def prefix(server: str) -> str:
    """What the names of a server's tools begin with."""
    name = _INVALID.sub("_", server)
    # Some providers take no name that begins with a digit or a dash.
    return name if name[:1].isalpha() or name[:1] == "_" else f"mcp_{name}"


def exposed(server: str, tool: str) -> str:
    """The name under which the model knows a tool."""
    name = f"{prefix(server)}_{_INVALID.sub('_', tool)}"
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(tool.encode(errors="replace")).hexdigest()[:_DIGEST]
    return f"{name[: LONGEST - _DIGEST - 1]}_{digest}"


def pattern(server: str, given: str) -> str:
    """A pattern for the names of a server's own, as a pattern for those that the model knows."""
    return f"{prefix(server)}_{_INVALID_IN_PATTERN.sub('_', given)}"


def fits(tool: str, patterns: Iterable[str]) -> bool:
    """Whether a name fits one of the patterns; they have ``*`` and ``?``, and nothing else."""
    return any(fnmatchcase(tool, given.replace("[", "[[]")) for given in patterns)


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
        if self.allow is not None and not fits(tool, self.allow):
            return False
        return not fits(tool, self.deny)

    def asks(self, tool: str) -> bool:
        """Whether a tool runs only after a person agreed."""
        return fits(tool, self.require_approval)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool of a server."""

    name: str
    """As the model knows it."""
    tool: str
    """As the server knows it."""
    description: str
    schema: dict[str, Any]
    claim: Claim | None = None
    """What the server says of it."""


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """A tool that is not offered."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The tools of a server."""

    offers: tuple[OfferedTool, ...] = ()
    refused: tuple[RefusedTool, ...] = ()


@dataclass(frozen=True, slots=True)
class CallSucceeded:
    """A call that ended well."""

    text: str


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call that did not; the words are the server's."""

    text: str


@dataclass(frozen=True, slots=True)
class CallCutOff:
    """A call that may or may not have taken effect."""

    reason: str


@dataclass(frozen=True, slots=True)
class CallNotRun:
    """A call that never reached the server."""

    reason: str


Answer = CallSucceeded | CallFailed | CallCutOff | CallNotRun


_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs"})
_KEPT = frozenset("\n\t")


def readable(text: str, most: int) -> str:
    """The visible part of a text that somebody else wrote, no longer than this."""
    # Nothing is looked at that would be cut off: the text may be of any length.
    begun = text[: 4 * most]
    seen = "".join(
        letter
        for letter in begun
        if letter in _KEPT or unicodedata.category(letter) not in _INVISIBLE
    )
    return seen if len(seen) <= most and begun == text else f"{seen[: most - 1]}…"
