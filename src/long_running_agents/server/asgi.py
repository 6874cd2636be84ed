"""The application: all routes of an open home, behind the guard."""

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from long_running_agents import __version__
from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.server.access import Access, plain_paths
from long_running_agents.server.failures import ErrorBody, handle_failures
from long_running_agents.server.guard import Guard
from long_running_agents.server.metrics import Metrics
from long_running_agents.server.request_ids import RequestIds
from long_running_agents.server.routes.chat import ChatRoutes
from long_running_agents.server.routes.metrics import MetricsRoutes
from long_running_agents.server.routes.status import StatusRoutes
from long_running_agents.server.routes.turns import TurnRoutes
from long_running_agents.server.ws import Sockets

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody} for status in ("4XX", "5XX")
}


def create_app(app: App, clock: Clock) -> ASGIApp:
    """An application that serves an open home.

    Args:
        app: The open home.
        clock: Tells the time.
    """
    metrics = Metrics(app, clock)
    app.onlookers.attend(metrics)
    routes = api(app, clock, metrics)
    served: ASGIApp = Guard(routes, app.settings.owner)
    # Outside of the guard: what it refuses is counted and written down as well.
    served = Access(served, metrics, clock, plain_paths(routes.routes))
    return RequestIds(served, traced=bool(app.settings.telemetry.otlp_endpoint))


def api(app: App, clock: Clock, metrics: Metrics | None = None) -> FastAPI:
    """The routes, without a guard before them."""
    served = FastAPI(
        title="Long Running Agents",
        version=__version__,
        summary="A self-hosted agent that remembers, works for days and survives kill -9.",
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        responses=_ERRORS,
    )
    handle_failures(served)
    every = (
        StatusRoutes(app, clock),
        MetricsRoutes(metrics or Metrics(app, clock)),
        ChatRoutes(app),
        TurnRoutes(app),
        Sockets(app),
    )
    for routes in every:
        served.include_router(routes.router())
    return served
