"""Choosing another model for good: what is checked, and what becomes of the settings."""

import difflib
from collections.abc import Mapping

from long_running_agents.config import Loaded
from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import NotFound
from long_running_agents.models import detection, names
from long_running_agents.models.names import Name

SECTION = "agent.model"
"""The settings that say which model answers."""

_SHOWN = 10


async def check_there(loaded: Loaded, name: Name) -> str:
    """See whether a server of one's own has the model; one that is away may come later.

    Returns:
        What a person should know; empty when there is nothing.

    Raises:
        NotFound: The server is there, and has no such model.
    """
    server = names.server_of(name, loaded.settings.agent.model)
    if server is None or server.needs_key:
        return ""
    async with detection.probing_client() as client:
        key = loaded.variables.get(server.key, "")
        there = await detection.listed(client, server.base_url, key)
    if there is None:
        return f"Nobody answers at {server.base_url} right now."
    if there and not {name.model, f"{name.model}:latest"} & set(there):
        near = difflib.get_close_matches(name.model, there, n=1)
        has = f"Did you mean {near[0]}?" if near else f"It has {', '.join(there[:_SHOWN])}."
        raise NotFound(f"The server at {server.base_url} has no model {name.model!r}.", hint=has)
    return ""


def values(name: Name, settings: ModelSettings) -> dict[str, str | None]:
    """What the section of the settings says of this model; None takes a value away."""
    if name.base_url:
        return {"model_id": name.model, "base_url": name.base_url, "provider": None}
    if name.provider in (names.CUSTOM, settings.provider) and settings.base_url:
        # A bare name stays at the address that is set; any other name brings its own.
        return {"model_id": name.model}
    return {"model_id": str(name), "base_url": None, "provider": None}


def applied(settings: ModelSettings, changed: Mapping[str, str | None]) -> ModelSettings:
    """The settings with these values."""
    return settings.model_copy(update={key: value or "" for key, value in changed.items()})
