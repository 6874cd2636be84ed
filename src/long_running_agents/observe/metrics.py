"""What the server has done, in numbers, for Prometheus. No number says whose it is."""

import asyncio
import logging
import platform
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from long_running_agents import __version__
from long_running_agents.app import App
from long_running_agents.domain.events import (
    EventEnvelope,
    ToolReturned,
    TurnDone,
    TurnFailed,
    TurnLimited,
    TurnStopped,
)
from long_running_agents.domain.memory import MemoryKind
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.observe.logs import FIELDS
from long_running_agents.observe.observers import ModelRequestObservation, Observer, TurnObservation
from long_running_agents.store import usage

OTHER = "other"
"""Stands for names that nobody here has given: a label that strangers fill would never end."""
_MOST_NAMES = 200
"""Names of models, or of tools, that are told apart."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_SLOW = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
_LATE = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
BLOCKED = 0.25
"""Seconds that the event loop may be late before it is worth a word."""
_ENDS = {
    TurnDone: TurnStatus.DONE,
    TurnStopped: TurnStatus.STOPPED,
    TurnLimited: TurnStatus.LIMITED,
    TurnFailed: TurnStatus.FAILED,
}


class _WithoutBirthdays(CollectorRegistry):
    """A registry without the series that say since when another one is counted."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()
        self._registry = registry

    @override
    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            metric.samples = [each for each in metric.samples if not each.name.endswith("_created")]
            yield metric


class Metrics(Observer):
    """Counts, in a registry of its own."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._tools: set[str] = set()
        self._models: set[str] = set()
        self._working = 0
        self.registry = CollectorRegistry(auto_describe=False)
        self._counter = partial(Counter, registry=self.registry)
        self._gauge = partial(Gauge, registry=self.registry)
        self._histogram = partial(Histogram, registry=self.registry)
        ProcessCollector(registry=self.registry)
        self._count_requests()
        self._count_turns()
        self._measure_the_house()

    def _count_requests(self) -> None:
        by_method = ["route", "method"]
        self._requests = self._counter(
            "lra_http_requests", "Requests by route.", [*by_method, "status"]
        )
        self._latency = self._histogram(
            "lra_http_request_seconds", "Time until a response began.", by_method, buckets=_QUICK
        )
        self._sockets = self._gauge("lra_websockets_open", "Open WebSockets.", ["route"])
        self._opened = self._counter(
            "lra_websockets", "WebSockets that were asked for.", ["route", "outcome"]
        )
        self._lag = self._histogram(
            "lra_event_loop_lag_seconds", "How late the event loop was.", buckets=_LATE
        )
        self._blocked = self._counter(
            "lra_event_loop_blocked", f"Times it was late by more than {BLOCKED:g} s."
        )

    def _count_turns(self) -> None:
        self._turns = self._counter("lra_turns", "Turns that ended.", ["outcome"])
        for end in _ENDS.values():
            self._turns.labels(end.value)
        self._durations = self._histogram(
            "lra_turn_seconds", "Work on a turn until it rested.", ["status"], buckets=_SLOW
        )
        self._asked = self._counter(
            "lra_model_requests", "Steps for which a model was asked.", ["model", "outcome"]
        )
        self._answering = self._histogram(
            "lra_model_request_seconds", "How long models took.", ["model"], buckets=_SLOW
        )
        self._tokens = self._counter(
            "lra_model_tokens", "Tokens in and out.", ["model", "direction"]
        )
        self._cost = self._counter(
            "lra_model_cost_dollars", "US dollars, where prices are known.", ["model"]
        )
        self._calls = self._counter("lra_tool_calls", "Tool calls.", ["tool", "outcome"])

    def _measure_the_house(self) -> None:
        began = self._clock.monotonic()
        self._gauge("lra_uptime_seconds", "Since the server began.").set_function(
            lambda: self._clock.monotonic() - began
        )
        self._gauge("lra_turns_running", "Turns at work.").set_function(lambda: self._working)
        self._gauge("lra_turns_queued", "Turns in line.").set_function(
            lambda: max(0, self._app.driver.busy - self._working)
        )
        self._sessions = self._gauge("lra_sessions", "Sessions.")
        self._approvals = self._gauge("lra_approvals_open", "Questions that wait.")
        self._memories = self._gauge("lra_memories", "Current memories.", ["kind"])
        self._gauge("lra_database_bytes", "The database and its log.").set_function(
            lambda: _size(self._app.database.path)
        )
        build = self._gauge("lra_build_info", "What is running.", ["version", "python"])
        build.labels(__version__, platform.python_version()).set(1)

    async def exposed(self) -> bytes:
        """Everything, in Prometheus' text format."""
        counted = await self._app.database.read(usage.taken)
        self._sessions.set(counted.sessions)
        self._approvals.set(counted.open_approvals)
        for kind in MemoryKind:
            self._memories.labels(kind.value).set(counted.memories.get(kind, 0))
        return generate_latest(_WithoutBirthdays(self.registry))

    def responded(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request, and how long its response took to begin."""
        named = method if method in _METHODS else OTHER
        self._requests.labels(route, named, str(status)).inc()
        self._latency.labels(route, named).observe(seconds)

    def connected(self, route: str) -> None:
        """Count a WebSocket that was let in."""
        self._opened.labels(route, "accepted").inc()
        self._sockets.labels(route).inc()

    def disconnected(self, route: str) -> None:
        """Count its end."""
        self._sockets.labels(route).dec()

    def turned_away(self, route: str) -> None:
        """Count a WebSocket that was not let in."""
        self._opened.labels(route, "refused").inc()

    @override
    def on_event(self, recorded: EventEnvelope) -> None:
        event = recorded.event
        if isinstance(event, ToolReturned):
            tool = event.tool if event.tool in self._tools else OTHER
            self._calls.labels(tool, event.outcome).inc()
        elif (end := _ENDS.get(type(event))) is not None:  # pyright: ignore[reportArgumentType] - most events end nothing
            self._turns.labels(end.value).inc()

    @override
    @contextmanager
    def turn(self, seen: TurnObservation) -> Generator[None]:
        since = self._clock.monotonic()
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            passed = self._clock.monotonic() - since
            self._durations.labels(str(seen.status)).observe(passed)

    @override
    def on_model_request(self, asked: ModelRequestObservation) -> None:
        model = self._model(asked.model)
        self._asked.labels(model, asked.outcome).inc()
        self._answering.labels(model).observe(asked.seconds)
        self._tokens.labels(model, "in").inc(asked.input_tokens)
        self._tokens.labels(model, "out").inc(asked.output_tokens)
        self._cost.labels(model).inc(float(asked.cost))

    @override
    def on_tools_offered(self, tools: Iterable[str]) -> None:
        if len(self._tools) < _MOST_NAMES:
            self._tools.update(tools)

    @override
    def on_loop_lag(self, seconds: float) -> None:
        self._lag.observe(seconds)
        if seconds > BLOCKED:
            self._blocked.inc()

    def _model(self, name: str) -> str:
        """A model's name, as long as there are not too many."""
        if name not in self._models:
            if len(self._models) >= _MOST_NAMES:
                return OTHER
            self._models.add(name)
        return name


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


log = logging.getLogger(__name__)

BEAT = 0.1
"""Seconds between two beats. Each costs some microseconds, and shorter blocks go unseen."""


class Heartbeat:
    """Beats, and says how late each beat was."""

    def __init__(self, clock: Clock, lagged: Callable[[float], None]) -> None:
        self._clock = clock
        self._lagged = lagged
        self._last = clock.monotonic()

    def beat(self) -> None:
        """Look at the clock."""
        now = self._clock.monotonic()
        late = max(0.0, now - self._last - BEAT)
        self._last = now
        self._lagged(late)
        if late > BLOCKED:
            log.warning("the event loop was blocked for %.2f s: all clients had to wait", late)


@contextmanager
def beating(clock: Clock, lagged: Callable[[float], None]) -> Generator[None]:
    """Watch the running event loop while inside."""
    loop, heart = asyncio.get_running_loop(), Heartbeat(clock, lagged)

    def beat() -> None:
        nonlocal next_beat
        heart.beat()
        next_beat = loop.call_later(BEAT, beat)

    next_beat = loop.call_later(BEAT, beat)
    try:
        yield
    finally:
        next_beat.cancel()


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
