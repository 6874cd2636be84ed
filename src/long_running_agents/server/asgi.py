"""The application: all routes of an open home, behind the guard."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from long_running_agents import __version__
from long_running_agents.app import App
from long_running_agents.config.editor import ConfigFile
from long_running_agents.domain.ports import Clock
from long_running_agents.observe.metrics import Access, Metrics, plain_paths
from long_running_agents.server.connections import RequestIds
from long_running_agents.server.errors import ErrorBody, handle_failures
from long_running_agents.server.guard import Authenticator, Guard
from long_running_agents.server.http import Routes, ServerContext
from long_running_agents.server.mcp.routes import McpRoutes
from long_running_agents.server.models import ModelRoutes, ModelSwitch
from long_running_agents.server.openai.routes import OpenAIRoutes
from long_running_agents.server.routes import (
    admin,
    agents,
    approvals,
    chat,
    files,
    jobs,
    memory,
    sessions,
    settings,
    skills,
    works,
)
from long_running_agents.server.routes.ui import UiRoutes
from long_running_agents.server.ws import Sockets

_ROUTES: tuple[type[Routes], ...] = (
    admin.StatusRoutes,
    admin.MetricsRoutes,
    admin.LoginRoutes,
    admin.TokenRoutes,
    chat.ChatRoutes,
    chat.TurnRoutes,
    sessions.SessionRoutes,
    sessions.TaskRoutes,
    works.WorkRoutes,
    agents.AgentRoutes,
    jobs.JobRoutes,
    jobs.HookRoutes,
    memory.LearnedRoutes,
    admin.UsageRoutes,
    admin.BudgetRoutes,
    ModelRoutes,
    approvals.ApprovalRoutes,
    approvals.RuleRoutes,
    memory.MemoryRoutes,
    files.ToolRoutes,
    skills.SkillRoutes,
    files.FileRoutes,
    settings.SettingRoutes,
    admin.DoctorRoutes,
    OpenAIRoutes,
)
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody} for status in ("4XX", "5XX")
}


def create_app(app: App, clock: Clock, authenticator: Authenticator | None = None) -> ASGIApp:
    """An application that serves an open home."""
    authenticator = authenticator or _usual_authenticator(app, clock)
    metrics = Metrics(app, clock)
    app.observers.attend(metrics)
    routes = api(app, clock, authenticator, metrics)
    served: ASGIApp = Guard(routes, authenticator)
    # Outside of the guard: what it refuses is counted and written down as well.
    served = Access(served, metrics, clock, plain_paths(routes.routes))
    return RequestIds(served, traced=bool(app.settings.telemetry.otlp_endpoint))


def _usual_authenticator(app: App, clock: Clock) -> Authenticator:
    return Authenticator(app.database, clock, app.settings.gateway, app.settings.owner)


def api(
    app: App,
    clock: Clock,
    authenticator: Authenticator | None = None,
    metrics: Metrics | None = None,
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
    authenticator = authenticator or _usual_authenticator(app, clock)
    file = ConfigFile(app.loaded.home)
    context = ServerContext(
        app=app,
        clock=clock,
        authenticator=authenticator,
        metrics=metrics or Metrics(app, clock),
        switching=ModelSwitch(app, clock, file),
        file=file,
    )
    every = (
        UiRoutes(),
        *(kind(context) for kind in _ROUTES),
        Sockets(app, context.switching),
        McpRoutes(app, clock, authenticator.connections),
    )
    for routes in every:
        served.include_router(routes.router())
    return served


def _operation(route: APIRoute) -> str:
    """What programs made from the description call a route by."""
    return "_".join([*(str(tag) for tag in route.tags[:1]), route.name])
