"""The agent as a server of the protocol, and the library's own client for it."""

from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from tests.integration.server.serving import listening_app

from long_running_agents.clock import SystemClock
from long_running_agents.domain.auth import EVERYTHING
from long_running_agents.server.asgi import create_app
from long_running_agents.server.auth import TokenRequest
from long_running_agents.server.guard import Authenticator
from long_running_agents.testing import ScriptedModel, make_app

GENERATIONS = ("auto", "legacy")
"""The newer one, without a handshake, and the older one with sessions."""


@asynccontextmanager
async def reached(url, mode="auto", secret=""):
    """The library's client at an address."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=300) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
    ):
        yield client


class Offered:
    """A served home."""

    def __init__(self, app, door, address):
        self.app = app
        self.door = door
        self.address = address
        self.url = f"{address}/mcp"

    def client(self, mode="auto", secret=""):
        """The library's client here."""
        return reached(self.url, mode, secret)

    async def token(self, owner="me", *scopes):
        """A new token's secret."""
        wish = TokenRequest(name="t", owner=owner, scopes=scopes or EVERYTHING)
        return (await self.door.tokens.create(wish, by="test")).secret


@asynccontextmanager
async def offered(home, *replies, **options):
    """An open home with a scripted model, served; it says good-bye at the end."""
    model = options.pop("model", None) or ScriptedModel(list(replies))
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(make_app(home, model=model, **options))
        clock = SystemClock()
        door = Authenticator(app.database, clock, app.settings.gateway, app.settings.owner)
        served = create_app(app, clock, door)
        address = await stack.enter_async_context(listening_app(served))
        stack.callback(door.connections.end_all)
        yield Offered(app, door, address)
