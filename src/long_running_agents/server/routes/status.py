"""Whether the server is there, and what it does."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from long_running_agents import __version__
from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Unavailable
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Reading


class Health(BaseModel):
    """The process answers."""

    status: str = "ok"


class Status(BaseModel):
    """What the server is and does."""

    status: str = "ok"
    version: str
    agent: str
    model: str
    started_at: datetime
    uptime_seconds: float
    sessions: int
    busy: int
    """Turns at work or in line."""


class StatusRoutes:
    """Health and status."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._started_at = clock.now()

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["status"], route_class=JsonRoute)
        router.get("/health")(self.health)
        router.get("/ready")(self.ready)
        router.get("/api/status")(self.status)
        return router

    async def health(self) -> Health:
        """Say that the process answers; nobody has to be known for it."""
        return Health()

    async def ready(self) -> Health:
        """Say whether turns can be taken; nobody has to be known for it."""
        if not self._app.driver.ready:
            raise Unavailable("The server is being stopped.", hint="Ask another, or later.")
        await self._app.sessions.count()
        return Health()

    async def status(self, caller: Reading) -> Status:
        """Say what the server does."""
        counted = await self._app.sessions.of(caller.owner).count()
        now = self._clock.now()
        return Status(
            version=__version__,
            agent=self._app.settings.agent.name,
            model=self._app.models.usual,
            started_at=self._started_at,
            uptime_seconds=(now - self._started_at).total_seconds(),
            sessions=counted,
            busy=self._app.driver.busy,
        )
