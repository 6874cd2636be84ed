"""The visitors' book: who came by which route, how it went and how long it took."""

import logging
from collections.abc import Collection, Iterable
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from long_running_agents.domain.ports import Clock
from long_running_agents.logs import FIELDS
from long_running_agents.server.metrics import Metrics

log = logging.getLogger(__name__)

UNKNOWN = "unmatched"
"""The route of whatever has none, or was refused before anybody looked for one."""


def route_of(scope: Scope, plain: Collection[str] = ()) -> str:
    """The template of the route that was taken: never just the path, which strangers choose.

    Args:
        scope: The request, after it was answered.
        plain: Paths of routes without parameters, and of whole applications, which do not say
            that they were taken.
    """
    if (template := getattr(scope.get("route"), "path", None)) is not None:
        return str(template)
    found = (path for path in (scope["path"], scope.get("root_path", "")) if path in plain)
    return next(found, UNKNOWN)


def plain_paths(routes: Iterable[object]) -> frozenset[str]:
    """The paths that stand for themselves."""
    paths = (getattr(route, "path", "") for route in routes)
    return frozenset(path for path in paths if path and "{" not in path)


class Access:
    """Writes each request and each WebSocket down, and counts it.

    Neither paths nor queries are written: they may hold anything.

    Args:
        app: Whoever answers.
        metrics: Counts.
        clock: Measures durations.
        plain: Paths that stand for themselves.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, clock: Clock, plain: Collection[str] = ()
    ) -> None:
        self._plain = plain
        self._app = app
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it be answered, then write it down."""
        match scope["type"]:
            case "http":
                await self._request(scope, receive, send)
            case "websocket":
                await self._socket(scope, receive, send)
            case _:
                await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        since = self._clock.monotonic()
        status, began = int(HTTPStatus.INTERNAL_SERVER_ERROR), None

        async def watched(message: Message) -> None:
            nonlocal status, began
            if message["type"] == "http.response.start":
                status, began = message["status"], self._clock.monotonic()
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            now = self._clock.monotonic()
            route, method = route_of(scope, self._plain), scope["method"]
            self._metrics.responded(route, method, status, (began or now) - since)
            self._write(route, now - since, method=method, status=status)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        since = self._clock.monotonic()
        let_in: str | None = None

        async def watched(message: Message) -> None:
            nonlocal let_in
            if message["type"] == "websocket.accept" and let_in is None:
                let_in = route_of(scope, self._plain)
                self._metrics.connected(let_in)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = let_in or route_of(scope, self._plain)
            if let_in is None:
                self._metrics.turned_away(route)
            else:
                self._metrics.disconnected(route)
            status = HTTPStatus.FORBIDDEN if let_in is None else HTTPStatus.SWITCHING_PROTOCOLS
            self._write(route, self._clock.monotonic() - since, method="WS", status=status)

    def _write(self, route: str, seconds: float, *, method: str, status: int) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        took = round(seconds * 1000, 1)
        fields = {"method": method, "route": route, "status": int(status), "ms": took}
        log.info("%s %s %s %s ms", method, route, int(status), took, extra={FIELDS: fields})
