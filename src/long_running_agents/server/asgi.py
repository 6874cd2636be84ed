"""The application: all routes of an open home, behind the guard."""

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from long_running_agents import __version__
from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.server.failures import ErrorBody, handle_failures
from long_running_agents.server.guard import Guard
from long_running_agents.server.openai.chat import ChatRoutes
from long_running_agents.server.openai.models import ModelRoutes
from long_running_agents.server.openai.responses import ResponseRoutes
from long_running_agents.server.routes.status import StatusRoutes

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody} for status in ("4XX", "5XX")
}


def create_app(app: App, clock: Clock) -> ASGIApp:
    """An application that serves an open home.

    Args:
        app: The open home.
        clock: Tells the time.
    """
    return Guard(api(app, clock), app.settings.owner)


def api(app: App, clock: Clock) -> FastAPI:
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
    for routes in (
        StatusRoutes(app, clock),
        ModelRoutes(app, clock),
        ChatRoutes(app, clock),
        ResponseRoutes(app, clock),
    ):
        served.include_router(routes.router())
    return served
