"""Hands: what an agent works with beside words."""

from dataclasses import dataclass

import httpx2

from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.mcp.servers import Servers
from long_running_agents.sandbox import opening
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.sandbox.workspace import Workspace
from long_running_agents.tools.workspaces import open_workspace
from long_running_agents.web.opening import web_of
from long_running_agents.web.web import Web


@dataclass(frozen=True, slots=True)
class Hands:
    """A folder that cannot be left, a place for code, a guarded way to the web, and servers."""

    workspace: Workspace
    sandboxes: SessionSandboxes
    web: Web
    servers: Servers

    async def close(self) -> None:
        """End what was started."""
        await self.servers.close()
        await self.sandboxes.close()


def hands_of(loaded: Loaded, client: httpx2.AsyncClient, clock: Clock, servers: Servers) -> Hands:
    """The hands that a home's settings give; nothing is started before it is used.

    Args:
        loaded: The settings.
        client: For servers that a person has set up.
        clock: Tells the time.
        servers: Foreign ones.

    Raises:
        ConfigError: The agent's folder cannot be had.
    """
    workspace = open_workspace(loaded)
    sandboxes = opening.session_sandboxes(
        loaded.settings.sandbox,
        loaded.variables,
        clock,
        workspace=workspace,
        layers=loaded.home / opening.LAYERS,
    )
    limit = loaded.settings.agent.tools.result_limit
    web = web_of(loaded.settings.web, loaded.variables, client, clock, result_limit=limit)
    return Hands(workspace, sandboxes, web, servers)
