"""What a tool says of itself: what running it again would do, and whether it is a second name."""

from typing import Any

from pydantic_ai.tools import ToolDefinition

from long_running_agents.domain.tool import Effect

_KEY = "effect"


_ALIAS = "alias"


def effect(kind: Effect, *, alias: bool = False) -> dict[str, Any]:
    """Metadata for a tool: ``@tools.tool(metadata=effect(Effect.READ))``.

    Args:
        kind: What running it again would do.
        alias: Whether it is another name for a tool that there is already.
    """
    return {_KEY: kind, _ALIAS: True} if alias else {_KEY: kind}


def is_alias(tool: ToolDefinition) -> bool:
    """Whether a tool is another name for one that there is already."""
    return bool((tool.metadata or {}).get(_ALIAS))


def effect_of(tool: ToolDefinition | None) -> Effect:
    """What a tool declared; ONCE when it declared nothing, because that is never wrong."""
    declared = (tool.metadata or {}).get(_KEY) if tool is not None else None
    return Effect(declared) if declared is not None else Effect.ONCE
