"""What a tool says of itself: what running it again would do, what it can do, whom it quotes."""

from collections.abc import Iterable
from typing import Any

from pydantic_ai.tools import ToolDefinition

from long_running_agents.domain.tool import Effect, Power

_KEY = "effect"
_ALIAS = "alias"
_POWERS = "powers"
_FOREIGN = "foreign"


def effect(
    kind: Effect, *, alias: bool = False, powers: Iterable[Power] = (), foreign: bool = False
) -> dict[str, Any]:
    """Metadata for a tool: ``@tools.tool(metadata=effect(Effect.READ))``.

    Args:
        kind: What running it again would do.
        alias: Whether it is another name for a tool that there is already.
        powers: What else it can do.
        foreign: Whether its results are somebody else's words, such as a page's.
    """
    said: dict[str, Any] = {_KEY: kind}
    if alias:
        said[_ALIAS] = True
    if powers := frozenset(powers):
        said[_POWERS] = powers
    if foreign:
        said[_FOREIGN] = True
    return said


def powers_of(tool: ToolDefinition | None) -> frozenset[Power]:
    """What a tool declared that it can do; everything when it declared nothing of itself."""
    said = tool.metadata or {} if tool is not None else {}
    if _KEY not in said:
        return frozenset(Power)
    return said.get(_POWERS, frozenset())


def is_foreign(tool: ToolDefinition | None) -> bool:
    """Whether a tool's results are somebody else's words; a tool of which nobody knows says so."""
    said = tool.metadata or {} if tool is not None else {}
    return bool(said.get(_FOREIGN, _KEY not in said))


def is_alias(tool: ToolDefinition) -> bool:
    """Whether a tool is another name for one that there is already."""
    return bool((tool.metadata or {}).get(_ALIAS))


def effect_of(tool: ToolDefinition | None) -> Effect:
    """What a tool declared; ONCE when it declared nothing, because that is never wrong."""
    declared = (tool.metadata or {}).get(_KEY) if tool is not None else None
    return Effect(declared) if declared is not None else Effect.ONCE
