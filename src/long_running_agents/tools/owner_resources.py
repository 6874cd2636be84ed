"""What the agent of each owner works with: workspace, sandboxes, web, MCP servers and skills."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import httpx2
from pydantic_ai.toolsets import AbstractToolset

from long_running_agents.config import LoadedSettings
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ports import Clock
from long_running_agents.mcp.servers import McpServers
from long_running_agents.sandbox import factory
from long_running_agents.sandbox.manager import SessionSandboxes
from long_running_agents.skills.context import skill_context_of
from long_running_agents.skills.library import SkillFileSync, SkillLibrary
from long_running_agents.store.database import Database
from long_running_agents.tools.catalog import reserved
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.skills import SkillTools
from long_running_agents.tools.workspace import is_borrowed, open_agent_folder, open_workspace
from long_running_agents.workspace.workspace import Workspace

if TYPE_CHECKING:
    from long_running_agents.web.web import Web


@dataclass(frozen=True, slots=True)
class OwnerResources:
    """A folder that cannot be left, a place for code, and a guarded way to the web."""

    workspace: Workspace
    folder: Workspace
    """The agent's own in the home, which holds its skills; often the workspace, too."""
    sandboxes: SessionSandboxes
    web: "Callable[[], Web]"


class AllOwnerResources:
    """The resources of each owner: nobody's files are in reach of somebody else's agent.

    Nothing is started before it is used. The client is for servers that a person has set up.

    Raises:
        ConfigError: The folder of the home's owner cannot be had.
    """

    def __init__(
        self, loaded: LoadedSettings, client: httpx2.AsyncClient, clock: Clock, servers: McpServers
    ) -> None:
        self._loaded = loaded
        self._clock = clock
        self.servers = servers
        limit = loaded.settings.agent.tools.result_limit

        @cache
        def web() -> "Web":
            from long_running_agents.web.web import web_of  # noqa: PLC0415 - for who reads a page

            settings, variables = loaded.settings.web, loaded.variables
            return web_of(settings, variables, client, clock, result_limit=limit)

        self._web = web
        self._own: dict[tuple[str, str], OwnerResources] = {}
        self.of(loaded.settings.owner)

    def of(self, owner: str, agent: str = "") -> OwnerResources:
        """Those of one owner; for an agent of a folder of its own, no more than that.

        Raises:
            ConfigError: The folder cannot be had.
        """
        if (owner, agent) not in self._own:
            self._own[owner, agent] = self._made(owner, agent)
        return self._own[owner, agent]

    async def close(self) -> None:
        """End what was started."""
        await self.servers.close()
        for each in self._own.values():
            await each.sandboxes.close()

    def _made(self, owner: str, agent: str) -> OwnerResources:
        loaded = self._loaded
        workspace, borrowed = open_workspace(loaded, owner, agent), is_borrowed(loaded, owner)
        sandboxes = factory.session_sandboxes(loaded, self._clock, workspace, borrowed=borrowed)
        folder = open_agent_folder(loaded, owner) if borrowed else workspace
        return OwnerResources(workspace, folder, sandboxes, self._web)


@dataclass(frozen=True, slots=True)
class SkillSetup:
    """Skills, as long as a home is open."""

    library: SkillLibrary
    """Those of the home's owner; of others with `of`."""
    filing: SkillFileSync
    toolset: SkillTools
    sandboxes: SessionSandboxes
    """Where they are tried."""

    async def close(self) -> None:
        """End what was started."""
        await self.filing.close()
        await self.sandboxes.close()


def skill_setup_of(
    loaded: LoadedSettings,
    database: Database,
    clock: Clock,
    resources: AllOwnerResources,
    *,
    toolsets: Sequence[AbstractToolset[TurnDeps]] = (),
    announce: Callable[[Sequence[EventEnvelope]], None],
) -> SkillSetup | None:
    """The skills of a home; None where skills are switched off. Nothing is started yet."""
    settings = loaded.settings
    if not settings.agent.tools.enable.skills:
        return None
    sandboxes = factory.errand_sandboxes(loaded, clock)
    context = skill_context_of(
        loaded,
        database,
        clock,
        sandboxes,
        servers=resources.servers,
        reserved=reserved(toolsets),
        place=resources.of,
        announce=announce,
    )
    library = SkillLibrary(context, settings.owner)
    filing = SkillFileSync(context, library)
    tools = SkillTools(
        settings.agent.skills,
        filing,
        network=bool(settings.sandbox.network),
        allows=context.allows,
    )
    return SkillSetup(library, filing, tools, sandboxes)
