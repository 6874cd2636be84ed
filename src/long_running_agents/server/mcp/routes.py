"""`/mcp`: the agent as an MCP server over HTTP; the library is loaded for the first client."""

import asyncio
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.requests import HTTPConnection
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from long_running_agents.app import App
from long_running_agents.domain import auth
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Unavailable
from long_running_agents.server.auth import caller_of, check
from long_running_agents.server.connections import ConnectionEnd, Connections

if TYPE_CHECKING:
    from long_running_agents.server.mcp.server import McpOwners

PATH = "/mcp"
_OWNERS = "long_running_agents.server.mcp.server"


class McpRoutes:
    """One path, behind the same guard as all others."""

    def __init__(self, app: App, clock: Clock, connections: Connections) -> None:
        self._app = app
        self._clock = clock
        self._route = Route(PATH, self)
        self._owners: McpOwners | None = None
        self._loading = asyncio.Lock()
        self._left = False
        # For as long as there are routes.
        self._hearing = ExitStack()
        self._hearing.enter_context(connections.registered(None, self._leave))

    def router(self) -> APIRouter:
        """What can be asked."""
        # No route of FastAPI's: the library reads the request, and answers it.
        return APIRouter(routes=[self._route])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        # A route that is not FastAPI's does not say that it was taken.
        scope["route"] = self._route
        caller = check(caller_of(HTTPConnection(scope)), auth.TokenScope.READ)
        owners = await self._loaded()
        await owners.answer(caller, scope, receive, send)

    async def _loaded(self) -> "McpOwners":
        async with self._loading:
            if self._owners is None:
                # It takes a second, and most servers never need it.
                await asyncio.to_thread(import_module, _OWNERS)
                from long_running_agents.server.mcp.server import McpOwners  # noqa: PLC0415

                self._owners = McpOwners(self._app, self._clock)
        if self._left:
            raise Unavailable("The server stops.", hint="Come again.")
        return self._owners

    def _leave(self, why: ConnectionEnd) -> None:
        if why is ConnectionEnd.LEAVING:
            self._left = True
            if self._owners is not None:
                self._owners.leave()
