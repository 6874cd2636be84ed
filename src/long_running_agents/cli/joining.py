"""Joining the server that owns a home, if one does."""

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from long_running_agents.cli.output import note
from long_running_agents.errors import LraError, ServerAway, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from long_running_agents.cli.desk import Desk
    from long_running_agents.client import Address, Client
    from long_running_agents.config import Loaded


@asynccontextmanager
async def joined(loaded: "Loaded", *, announce: bool = False) -> "AsyncGenerator[Desk | None]":
    """A desk at the server that owns the home, while inside; None when there is no server.

    Args:
        loaded: The settings, with the home.
        announce: Whether the person is told where they are.
    """
    async with client_of(loaded) as client:
        if client is None:
            yield None
            return
        from long_running_agents.cli.joined_desk import JoinedDesk

        if loaded.origin("sandbox.unsafe_local") == "flag":
            raise UsageError(
                "Where code runs is for the server to decide.",
                hint="Stop it, and start it with 'lra serve --unsafe-local'.",
            )
        desk = JoinedDesk(client, await client.status(), loaded)
        desk.tell(note)
        if announce:
            note(f"joined the server at {client.link.url}")
        yield desk


@asynccontextmanager
async def client_of(loaded: "Loaded") -> "AsyncGenerator[Client | None]":
    """A client of the server that owns the home, while inside; None when there is none."""
    if _address(loaded) is None:
        yield None
        return
    from long_running_agents.client import Client
    from long_running_agents.clock import SystemClock

    async with Client.found(
        lambda: _address(loaded), SystemClock(), owner=loaded.settings.owner
    ) as client:
        yield client if await _there(client, loaded) else None


async def tell_of_model(loaded: "Loaded", name: str) -> None:
    """Have the server that runs in the home ask another model from now on."""
    async with client_of(loaded) as client:
        if client is None:
            return
        try:
            told = await client.choose_model(name) or "The running server asks it from now on."
        except LraError as error:
            told = f"The running server asks it from its next start on: {error.message}"
        note(told)


async def _there(client: "Client", loaded: "Loaded") -> bool:
    """Whether the server answers; one that has just left has left its home, too."""
    try:
        await client.status()
    except ServerAway:
        if _address(loaded) is None:
            return False
        raise
    return True


def _address(loaded: "Loaded") -> "Address | None":
    from long_running_agents.home import Home
    from long_running_agents.server import presence

    found = presence.running(Home(loaded.home))
    if found is None:
        return None
    from long_running_agents.client import Address

    return Address(found.address, found.secret)
