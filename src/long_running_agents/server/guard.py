"""The guard: finds out who asks before anything else is done."""

from starlette.types import ASGIApp, Receive, Scope, Send

from long_running_agents.domain.token import Caller
from long_running_agents.server.callers import CALLER


class Guard:
    """Lets in whoever is at this machine."""

    def __init__(self, app: ASGIApp, owner: str) -> None:
        self._app = app
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say who asks, and pass the request on."""
        scope.setdefault("state", {})[CALLER] = Caller(owner=self._owner)
        await self._app(scope, receive, send)
