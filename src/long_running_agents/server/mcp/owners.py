"""The protocol over HTTP: for each owner the sessions of their clients.

A session id of another owner is not known here, since each owner has their own sessions.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.token import Caller
from long_running_agents.errors import Unavailable
from long_running_agents.server.callers import caller_of
from long_running_agents.server.mcp.agent import at_home
from long_running_agents.server.mcp.protocol import server_of

MOST_SESSIONS = 64
"""Sessions of one owner that are open at a time."""
IDLE = 30 * 60.0
"""Seconds after which a session that nobody uses is closed."""


@dataclass(frozen=True, slots=True)
class _Open:
    manager: StreamableHTTPSessionManager
    ready: asyncio.Event
    living: asyncio.Task[None]


class Owners:
    """The sessions of all owners."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._open: dict[str, _Open] = {}
        self._leaving = False

    async def answer(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of somebody."""
        manager = await self._manager(caller.owner)
        await manager.handle_request(scope, receive, send)

    def leave(self) -> None:
        """End all sessions; the turns that were asked for go on at the next start."""
        self._leaving = True
        for each in self._open.values():
            each.living.cancel()

    async def _manager(self, owner: str) -> StreamableHTTPSessionManager:
        known = self._open.get(owner)
        if known is None:
            agent = at_home(self._app, owner)
            server = server_of(agent, self._clock, _who, lambda: self._leaving)
            manager = StreamableHTTPSessionManager(
                server,
                session_idle_timeout=IDLE,
                max_request_body_size=self._app.settings.gateway.max_body,
                max_sessions=MOST_SESSIONS,
            )
            ready = asyncio.Event()
            known = _Open(manager, ready, asyncio.create_task(_live(manager, ready)))
            self._open[owner] = known
        await known.ready.wait()
        if self._leaving:
            raise Unavailable("The server stops.", hint="Come again.")
        return known.manager


async def _live(manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
    """Hold sessions open: what the library opens must be closed in the same task."""
    try:
        async with manager.run():
            ready.set()
            await asyncio.Event().wait()
    finally:
        ready.set()


def _who(request: Any) -> Caller:
    return caller_of(HTTPConnection(request.scope))
