"""The built-in tools as a person reads about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.toolsets import FunctionToolset

from long_running_agents.config import Settings
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.tools.catalog import families, switched_on
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect_of, powers_of
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
        one
        for family in (*families(network=bool(settings.sandbox.network)), helpers)
        for one in _of(family, on)
    ]


def _of(family: FunctionToolset[TurnDeps], on: set[str]) -> list[Listed]:
    return [
        Listed(
            name=name,
            family=family.id or "",
            enabled=name in on,
            effect=effect_of(tool.tool_def),
            powers=powers_of(tool.tool_def),
            description=tool.description or "",
            parameters=tool.function_schema.json_schema,
        )
        for name, tool in family.tools.items()
    ]
