"""Numbers for Prometheus."""

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Administering
from long_running_agents.server.metrics import Metrics

_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


class MetricsRoutes:
    """What the server has done, in numbers."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["status"], route_class=JsonRoute)
        router.get("/metrics", response_class=Response, responses=_TEXT)(self.metrics)
        return router

    async def metrics(self, caller: Administering) -> Response:
        """Count what was done for all owners, in Prometheus' text format."""
        del caller
        return Response(await self._metrics.exposed(), media_type=CONTENT_TYPE_LATEST)
