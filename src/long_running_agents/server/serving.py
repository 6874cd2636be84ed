"""Serving an open home."""

from collections.abc import Callable

from long_running_agents import listening
from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.server import heartbeat
from long_running_agents.server.asgi import create_app

_OPTIONS = {
    "ws": "websockets-sansio",
    # What is sent is small and already on its way: packing it costs more than it saves.
    "ws_per_message_deflate": False,
    "ws_max_size": 1 << 20,
}


async def serve(app: App, clock: Clock, ready: Callable[[str], None]) -> None:
    """Serve a home where its settings say, until cancelled or interrupted.

    Args:
        app: The open home.
        clock: Tells the time.
        ready: Hears the address once somebody may come.
    """
    gateway = app.settings.gateway
    served = create_app(app, clock)
    with heartbeat.beating(clock, app.onlookers.lagged):
        await listening.serve(served, gateway.host, gateway.port, ready, _OPTIONS)
