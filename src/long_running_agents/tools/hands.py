"""Hands: what an agent works with beside words."""

from dataclasses import dataclass

from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox import opening
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.sandbox.workspace import Workspace
from long_running_agents.tools.workspaces import open_workspace


@dataclass(frozen=True, slots=True)
class Hands:
    """A folder that cannot be left, and a place for code."""

    workspace: Workspace
    sandboxes: SessionSandboxes

    async def close(self) -> None:
        """End what was started."""
        await self.sandboxes.close()


def hands_of(loaded: Loaded, clock: Clock) -> Hands:
    """The hands that a home's settings give; nothing is started before it is used.

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
    return Hands(workspace, sandboxes)
