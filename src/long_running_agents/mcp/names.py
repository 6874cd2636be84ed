"""The names of foreign tools: valid for every provider, and never one of ours."""

import hashlib
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

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
