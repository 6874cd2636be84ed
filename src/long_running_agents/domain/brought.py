"""What a client brings along for a turn: instructions of its own, and tools that it runs itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTool:
    """A tool that whoever asked runs itself."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its parameters, as a JSON schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """The client's instructions and tools, for one turn."""

    instructions: str = ""
    tools: tuple[ClientTool, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """What its tools are called."""
        return frozenset(tool.name for tool in self.tools)

    def to_json(self) -> str | None:
        """As a turn keeps it; None when nothing was brought."""
        return _BROUGHT.dump_json(self).decode() if self.instructions or self.tools else None


_BROUGHT = TypeAdapter(Brought)
_NOTHING = Brought()


def brought(kept: str | None) -> Brought:
    """What a turn keeps, as it was brought."""
    return _NOTHING if kept is None else _BROUGHT.validate_json(kept)
