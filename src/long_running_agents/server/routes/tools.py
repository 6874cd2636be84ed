"""Tools: what the model may call. Nothing here calls one."""

from fnmatch import fnmatchcase
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import ConfigDict

from long_running_agents.app import App
from long_running_agents.config.settings import ToolSettings
from long_running_agents.domain.skill import Kind
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Reading
from long_running_agents.server.wire.shapes import Told
from long_running_agents.tools.listing import Listed, listed, told


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
        settings = self._app.settings
        made = await self._skills(caller.owner)
        tools = settings.agent.tools
        return ToolList(
            tools=[
                *(_told(each, "built_in", tools) for each in listed(settings)),
                *(_told(each, "skill", tools) for each in made),
            ]
        )

    async def _skills(self, owner: str) -> list[Listed]:
        workshop = self._app.workshop
        if workshop is None:
            return []
        library, tools = workshop.library.of(owner), workshop.toolset
        return [
            told(tools.definition(each), "skill_tools", enabled=library.allows(each.name))
            for each in (await library.shelf()).of(Kind.FUNCTION)
        ]


def _told(known: Listed, kind: Literal["built_in", "skill"], settings: ToolSettings) -> ToolTold:
    return ToolTold(
        name=known.name,
        kind=kind,
        family=known.family,
        description=known.description,
        parameters=known.parameters,
        effect=known.effect,
        powers=sorted(known.powers),
        foreign=known.foreign,
        enabled=known.enabled,
        approval=_approval(known, settings),
    )


def _approval(known: Listed, settings: ToolSettings) -> Literal["never", "sometimes", "always"]:
    """What the settings and the gate say of a tool, as far as that is known without a call."""
    if known.name in settings.require_approval:
        return "always"
    asking = any(
        rule.decision == "ask" and fnmatchcase(known.name, rule.tool) for rule in settings.rules
    )
    return "sometimes" if asking or known.powers else "never"
