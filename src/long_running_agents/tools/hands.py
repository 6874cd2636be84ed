"""Hands: what an agent works with beside words."""

from dataclasses import dataclass
from pathlib import Path

from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox import opening
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.sandbox.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Hands:
    """A folder that cannot be left, and a place for code."""

    workspace: Workspace
    sandboxes: SessionSandboxes

    async def close(self) -> None:
        """End what was started."""
        await self.sandboxes.close()


def hands_of(loaded: Loaded, folder: Path, clock: Clock) -> Hands:
    """The hands that a home's settings give; nothing is started before it is used.

    Args:
        loaded: The settings.
        folder: The agent's folder, made now if it is not there.
        clock: Tells the time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sandboxes = opening.session_sandboxes(
        loaded.settings.sandbox,
        loaded.variables,
        clock,
        workspace=folder,
        layers=loaded.home / opening.LAYERS,
    )
    return Hands(Workspace(folder), sandboxes)
