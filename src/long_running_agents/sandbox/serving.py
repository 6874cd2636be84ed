"""Runs the sandbox server in this process."""

import socket
from collections.abc import Callable

import uvicorn

from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Unavailable
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
        config = uvicorn.Config(
            create_app(sandboxes, spec, key),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        with _listening(host, port) as listener:
            if ready is not None:
                shown = f"[{host}]" if ":" in host else host
                ready(f"http://{shown}:{listener.getsockname()[1]}", key)
            await uvicorn.Server(config).serve(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Listening already, so that a client that is told the address may come at once.
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise Unavailable(
            f"Nothing can listen at {host}, port {port}: {error.strerror}.",
            hint="Stop what uses the port, or choose another.",
        ) from error
