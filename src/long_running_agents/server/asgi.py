"""The application: all routes of an open home, behind the guard."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from long_running_agents import __version__
from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.server.access import Access, plain_paths
from long_running_agents.server.config_file import ConfigFile
from long_running_agents.server.door import Door
from long_running_agents.server.failures import ErrorBody, handle_failures
from long_running_agents.server.guard import Guard
from long_running_agents.server.mcp.routes import McpRoutes
from long_running_agents.server.metrics import Metrics
from long_running_agents.server.openai.chat import CompletionRoutes
from long_running_agents.server.openai.models import ModelListRoutes
from long_running_agents.server.openai.responses import ResponseRoutes
from long_running_agents.server.request_ids import RequestIds
from long_running_agents.server.routes.approvals import ApprovalRoutes
from long_running_agents.server.routes.chat import ChatRoutes
from long_running_agents.server.routes.doctor import DoctorRoutes
from long_running_agents.server.routes.files import FileRoutes
from long_running_agents.server.routes.login import LoginRoutes
from long_running_agents.server.routes.memory import MemoryRoutes
from long_running_agents.server.routes.metrics import MetricsRoutes
from long_running_agents.server.routes.models import ModelRoutes
from long_running_agents.server.routes.sessions import SessionRoutes
from long_running_agents.server.routes.settings import SettingRoutes
from long_running_agents.server.routes.skills import SkillRoutes
from long_running_agents.server.routes.status import StatusRoutes
from long_running_agents.server.routes.tasks import TaskRoutes
from long_running_agents.server.routes.tokens import TokenRoutes
from long_running_agents.server.routes.tools import ToolRoutes
from long_running_agents.server.routes.turns import TurnRoutes
from long_running_agents.server.routes.usage import UsageRoutes
from long_running_agents.server.switching import Switching
from long_running_agents.server.ws import Sockets

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody} for status in ("4XX", "5XX")
}


def create_app(app: App, clock: Clock, door: Door | None = None) -> ASGIApp:
    """An application that serves an open home.

    Args:
        app: The open home.
        clock: Tells the time.
        door: Lets people in; made as the settings say unless given.
    """
    door = door or _usual_door(app, clock)
    metrics = Metrics(app, clock)
    app.onlookers.attend(metrics)
    routes = api(app, clock, door, metrics)
    served: ASGIApp = Guard(routes, door)
    # Outside of the guard: what it refuses is counted and written down as well.
    served = Access(served, metrics, clock, plain_paths(routes.routes))
    return RequestIds(served, traced=bool(app.settings.telemetry.otlp_endpoint))


def _usual_door(app: App, clock: Clock) -> Door:
    return Door(app.database, clock, app.settings.gateway, app.settings.owner)


def api(
    app: App, clock: Clock, door: Door | None = None, metrics: Metrics | None = None
) -> FastAPI:
    """The routes, without a guard before them."""
    served = FastAPI(
        title="Long Running Agents",
        version=__version__,
        summary="A self-hosted agent that remembers, works for days and survives kill -9.",
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        responses=_ERRORS,
        generate_unique_id_function=_operation,
    )
    handle_failures(served)
    door = door or _usual_door(app, clock)
    file = ConfigFile(app.loaded.home)
    switching = Switching(app, clock, file)
    every = (
        StatusRoutes(app, clock),
        MetricsRoutes(metrics or Metrics(app, clock)),
        LoginRoutes(door),
        TokenRoutes(door.tokens, app.settings.owner),
        ChatRoutes(app, switching),
        TurnRoutes(app),
        SessionRoutes(app, switching),
        TaskRoutes(app),
        UsageRoutes(app, clock),
        ModelRoutes(app, switching),
        ApprovalRoutes(app, clock),
        MemoryRoutes(app),
        ToolRoutes(app),
        SkillRoutes(app),
        FileRoutes(app),
        SettingRoutes(app, file),
        DoctorRoutes(clock, switching),
        ModelListRoutes(app, clock),
        CompletionRoutes(app, clock),
        ResponseRoutes(app, clock),
        Sockets(app, switching),
        McpRoutes(app, clock, door.connections),
    )
    for routes in every:
        served.include_router(routes.router())
    return served


def _operation(route: APIRoute) -> str:
    """What programs made from the description call a route by."""
    return "_".join([*(str(tag) for tag in route.tags[:1]), route.name])
