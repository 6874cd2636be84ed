"""How a skill stands in a module that was exported: a marker, what is known of it, its text."""

import hashlib
import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from long_running_agents.domain.skill import NAME

MARKER = re.compile(
    rf"# --- skill: (?P<name>{NAME.pattern}) · version (?P<number>[0-9]{{1,9}}) · "
    r"sha256: (?P<digest>[0-9a-f]{64})"
)
"""The line that a section begins with."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tried(_Part):
    """An example."""

    args: dict[str, Any]
    result: Any = None
    checked: bool = False
    derived: bool = False


class Allowed(_Part):
    """The limits."""

    timeout: float = Field(gt=0, allow_inf_nan=False)
    memory: int = Field(gt=0)


class Hoisted(_Part):
    """An import from the future, which has to stand at the top of the module."""

    line: int = Field(ge=1)
    column: int = Field(ge=0)
    left: str
    """What stands there instead."""
    text: str


class About(_Part):
    """What is known of a skill, as the comment below its marker has it."""

    function: str
    """The name in the source, before anything was renamed."""
    limits: Allowed
    safe_mode: bool
    allowed_imports: tuple[str, ...]
    examples: tuple[Tried, ...]
    label: str
    description: str
    lines: int = Field(ge=1)
    """How many lines of the section follow."""
    before: int = Field(default=0, ge=0)
    """How many of them were put before the source."""
    after: int = Field(default=0, ge=0)
    """How many of them were put after it."""
    renamed: dict[str, str] = {}
    """What the source called something, and what the section calls it."""
    hoisted: tuple[Hoisted, ...] = ()


def digest_of_section(lines: list[str]) -> str:
    """The sha256 of a section, from the line below its marker on."""
    text = "\n".join(lines)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
