"""Serving one client of the Model Context Protocol over stdin and stdout."""

from typing import TYPE_CHECKING

from long_running_agents.cli.joining import client_of
from long_running_agents.clock import SystemClock
from long_running_agents.errors import UsageError
from long_running_agents.home import Home
from long_running_agents.logs import log_to
from long_running_agents.server.interrupts import Interrupts

if TYPE_CHECKING:
    from long_running_agents.config import Loaded
    from long_running_agents.server.mcp.agent import Agent


async def serve_client(loaded: "Loaded", model: str | None) -> None:
    """Serve until stdin ends or somebody says stop.

    Args:
        loaded: The settings, with the home.
        model: The model to ask, if another than usual.
    """
    from long_running_agents.server.mcp.agent import at_server

    with Interrupts() as interrupts:
        async with client_of(loaded) as client:
            if client is not None:
                _check(loaded, model)
                settings = loaded.settings
                with log_to(Home(loaded.home).logs, settings.log_level, loaded.redact):
                    agent = await at_server(client, settings.owner)
                    await _talk(agent, interrupts)
                return
        await _serve_home(loaded, model, interrupts)


async def _serve_home(loaded: "Loaded", model: str | None, interrupts: Interrupts) -> None:
    from long_running_agents.app import open_app
    from long_running_agents.cli.serve import with_model
    from long_running_agents.server.mcp.agent import at_home

    loaded = await with_model(loaded, model)
    async with open_app(loaded) as app:
        await _talk(at_home(app, app.settings.owner), interrupts)


async def _talk(agent: "Agent", interrupts: Interrupts) -> None:
    # Only here: the library of the protocol takes a while.
    from long_running_agents.server.mcp import stdio

    await stdio.talk(agent, SystemClock(), interrupts.asked)


def _check(loaded: "Loaded", model: str | None) -> None:
    """Refuse what a running server has decided already."""
    if model is not None or loaded.origin("sandbox.unsafe_local") == "flag":
        raise UsageError(
            "A server runs in this home; its model and where code runs are for it to decide.",
            hint="Leave the flags away, or stop the server.",
        )
