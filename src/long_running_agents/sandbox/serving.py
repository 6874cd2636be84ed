"""Runs the sandbox server in this process."""

from collections.abc import Callable

from long_running_agents import listening
from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox import opening
from long_running_agents.sandbox.server import create_app, key_for


async def serve(
    loaded: Loaded,
    clock: Clock,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    ready: Callable[[str, str], None] | None = None,
) -> None:
    """Serve sandboxes until cancelled or interrupted.

    Args:
        loaded: The settings.
        clock: Tells the time.
        host: The address to bind.
        port: The port to bind; 0 takes a free one.
        ready: Hears the address and the key once the server answers.
    """
    settings = opening.served(loaded.settings.sandbox)
    spec = opening.spec_of(settings, layers=loaded.home / opening.LAYERS)
    key = key_for(loaded.variables)
    async with opening.opened(settings, loaded.variables, clock, spec) as sandboxes:

        def told(address: str) -> None:
            if ready is not None:
                ready(address, key)

        await listening.serve(create_app(sandboxes, spec, key), host, port, told)
