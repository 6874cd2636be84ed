"""The built-in tools as a person reads about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.tools import ToolDefinition

from long_running_agents.config import Settings
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.tools.catalog import families, switched_on
from long_running_agents.tools.effects import effect_of, is_foreign, powers_of
from long_running_agents.tools.skill_tools import finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A tool."""

    name: str
    family: str
    enabled: bool
    """Whether the settings let the model use it."""
    effect: Effect
    powers: frozenset[Power]
    foreign: bool
    """Whether its results are somebody else's words."""
    description: str
    parameters: dict[str, Any]
    """The JSON Schema of its arguments."""


def listed(settings: Settings) -> Sequence[Listed]:
    """Every built-in tool, by family."""
    on = set(switched_on(settings).tools)
    tools = settings.agent.tools
    helpers = finding()
    if tools.enable.skills:
        on |= {name for name in helpers.tools if tools.allow is None or name in tools.allow}
    return [
        told(tool.tool_def, family.id or "", enabled=name in on)
        for family in (*families(network=bool(settings.sandbox.network)), helpers)
        for name, tool in family.tools.items()
    ]


def told(tool: ToolDefinition, family: str, *, enabled: bool) -> Listed:
    """A tool as its definition tells of it."""
    return Listed(
        name=tool.name,
        family=family,
        enabled=enabled,
        effect=effect_of(tool),
        powers=powers_of(tool),
        foreign=is_foreign(tool),
        description=tool.description or "",
        parameters=tool.parameters_json_schema,
    )
