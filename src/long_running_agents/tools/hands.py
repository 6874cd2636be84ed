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


class AllHands:
    """The hands for each owner: nobody's files are in reach of somebody else's agent.

    Nothing is started before it is used.

    Args:
        loaded: The settings.
        client: For servers that a person has set up.
        clock: Tells the time.
        servers: Foreign ones.

    Raises:
        ConfigError: The folder of the home's owner cannot be had.
    """

    def __init__(
        self, loaded: Loaded, client: httpx2.AsyncClient, clock: Clock, servers: Servers
    ) -> None:
        self._loaded = loaded
        self._clock = clock
        self.servers = servers
        limit = loaded.settings.agent.tools.result_limit
        self._web = web_of(loaded.settings.web, loaded.variables, client, clock, result_limit=limit)
        self._own: dict[str, Hands] = {}
        self.of(loaded.settings.owner)

    def of(self, owner: str) -> Hands:
        """An owner's hands.

        Raises:
            ConfigError: The folder cannot be had.
        """
        if owner not in self._own:
            self._own[owner] = self._made(owner)
        return self._own[owner]

    async def close(self) -> None:
        """End what was started."""
        await self.servers.close()
        for hands in self._own.values():
            await hands.sandboxes.close()

    def _made(self, owner: str) -> Hands:
        loaded = self._loaded
        workspace = open_workspace(loaded, owner)
        sandboxes = opening.session_sandboxes(
            loaded.settings.sandbox,
            loaded.variables,
            self._clock,
            workspace=workspace,
            layers=loaded.home / opening.LAYERS,
        )
        return Hands(workspace, sandboxes, self._web, self.servers)
