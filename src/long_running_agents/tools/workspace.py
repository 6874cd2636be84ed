"""Opening the agent's folder, without what is not the agent's in it."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from long_running_agents.config import LoadedSettings
from long_running_agents.domain.session import MINE
from long_running_agents.errors import ConfigError
from long_running_agents.home import agent_folder, workspace_of
from long_running_agents.workspace.workspace import Workspace

_MEMORY = "memory"
_AGENTS = "agents"


def open_workspace(loaded: LoadedSettings, owner: str, agent: str = "") -> Workspace:
    """The folder that the agent has for an owner, made if it is not there.

    An agent with a folder of its own has one below it.

    Raises:
        ConfigError: It cannot be made, or it is the home, whose files no tool may touch.
    """
    root = workspace_of(loaded, owner)
    return _opened(root / _AGENTS / agent if agent else root, loaded, owner)


def open_agent_folder(loaded: LoadedSettings, owner: str) -> Workspace:
    """The folder in the home that holds an owner's SOUL.md, memories and skills."""
    return _opened(agent_folder(loaded, owner), loaded, owner)


def is_borrowed(loaded: LoadedSettings, owner: str) -> bool:
    """Whether the agent works in a folder that is not its own."""
    return workspace_of(loaded, owner).resolve() != agent_folder(loaded, owner).resolve()


def _opened(root: Path, loaded: LoadedSettings, owner: str) -> Workspace:
    home = Path(loaded.home)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"The workspace {root} cannot be made: {error.strerror}.",
            hint="Set agent.workspace to a folder that can be written.",
        ) from error
    root, home = root.resolve(), home.resolve()
    if root == home:
        raise ConfigError(
            f"The workspace is the home itself, {root}.",
            hint="Set agent.workspace to another folder: the home holds keys and the database.",
        )
    hidden = set(_of_others(root, owner))
    if home.is_relative_to(root):
        hidden.add(home.relative_to(root).as_posix())
    return Workspace(root, hidden=hidden)


def _of_others(root: Path, owner: str) -> Iterator[str]:
    """What other owners of the same home remember."""
    mine = quote(owner, safe="")
    try:
        found = list(os.scandir(root / _MEMORY))
    except OSError:
        return
    for entry in found:
        others = entry.is_dir(follow_symlinks=False) if owner == MINE else entry.name != mine
        if others:
            yield f"{_MEMORY}/{entry.name}"
