"""Tools: what the model may call. Nothing here calls one."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import ConfigDict
from pydantic_ai.tools import ToolDefinition

from long_running_agents.app import App
from long_running_agents.config.settings import ToolSettings
from long_running_agents.domain.skill import Kind
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Reading
from long_running_agents.server.wire.shapes import Told
from long_running_agents.tools.catalog import families, switched_on
from long_running_agents.tools.effects import effect_of, is_foreign, powers_of


class ToolTold(Told):
    """A tool that the model may call."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "list_tasks",
                "kind": "built_in",
                "family": "tasks",
                "description": "List this session's tasks, in the order they were made.",
                "parameters": {"type": "object", "properties": {}},
                "effect": "read",
                "powers": [],
                "foreign": False,
                "enabled": True,
                "approval": "never",
            }
        }
    )

    name: str
    kind: Literal["built_in", "skill"]
    """Whether it was shipped, or made: a skill of the caller's that is in use."""
    family: str
    description: str
    parameters: dict[str, Any]
    """The JSON schema of its arguments."""
    effect: Effect
    """What running it again would do, at worst."""
    powers: list[Power]
    """What it can do beyond its own result."""
    foreign: bool
    """Whether its results are somebody else's words."""
    enabled: bool
    """Whether the settings let it be called."""
    approval: Literal["never", "sometimes", "always"]
    """Whether a person is asked before it runs."""


class ToolList(Told):
    """Every built-in tool, and the caller's skills in use."""

    tools: list[ToolTold]


class ToolRoutes:
    """The catalogue."""

    def __init__(self, app: App) -> None:
        self._app = app

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/tools", tags=["tools"], route_class=JsonRoute)
        router.get("")(self.list_all)
        return router

    async def list_all(self, caller: Reading) -> ToolList:
        """List the tools that the model may call."""
        return ToolList(tools=[*self._built_in(), *await self._skills(caller.owner)])

    def _built_in(self) -> Iterator[ToolTold]:
        settings = self._app.settings
        enabled = switched_on(settings).tools
        for family in families(network=bool(settings.sandbox.network)):
            for name, tool in family.tools.items():
                yield self._told(
                    tool.tool_def, "built_in", family.id or "", enabled=name in enabled
                )

    async def _skills(self, owner: str) -> list[ToolTold]:
        workshop = self._app.workshop
        if workshop is None:
            return []
        shelf = await workshop.library.of(owner).shelf()
        tools = workshop.toolset
        return [
            self._told(tools.definition(each), "skill", "skill_tools", enabled=tools.may(each.name))
            for each in shelf.of(Kind.FUNCTION)
        ]

    def _told(
        self,
        known: ToolDefinition,
        kind: Literal["built_in", "skill"],
        family: str,
        *,
        enabled: bool,
    ) -> ToolTold:
        return ToolTold(
            name=known.name,
            kind=kind,
            family=family,
            description=known.description or "",
            parameters=known.parameters_json_schema,
            effect=effect_of(known),
            powers=sorted(powers_of(known)),
            foreign=is_foreign(known),
            enabled=enabled,
            approval=_approval(known, self._app.settings.agent.tools),
        )


def _approval(
    tool: ToolDefinition, settings: ToolSettings
) -> Literal["never", "sometimes", "always"]:
    """What the settings and the gate say of a tool, as far as that is known without a call."""
    if tool.name in settings.require_approval:
        return "always"
    asking = any(
        rule.decision == "ask" and fnmatchcase(tool.name, rule.tool) for rule in settings.rules
    )
    return "sometimes" if asking or powers_of(tool) else "never"
