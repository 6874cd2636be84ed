"""How a tool says what running it again would do."""

from typing import Any

from pydantic_ai.tools import ToolDefinition

from long_running_agents.domain.tool import Effect

_KEY = "effect"


def effect(kind: Effect) -> dict[str, Any]:
    """Metadata for a tool: ``@tools.tool(metadata=effect(Effect.READ))``."""
    return {_KEY: kind}


def effect_of(tool: ToolDefinition | None) -> Effect:
    """What a tool declared; ONCE when it declared nothing, because that is never wrong."""
    declared = (tool.metadata or {}).get(_KEY) if tool is not None else None
    return Effect(declared) if declared is not None else Effect.ONCE
