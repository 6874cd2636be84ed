"""What the server has done, in numbers, for Prometheus. No number says whose it is."""

import platform
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
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
from typing_extensions import override

from long_running_agents import __version__
from long_running_agents.agent.onlookers import Asked, Onlooker, Seen
from long_running_agents.app import App
from long_running_agents.domain.events import (
    Recorded,
    ToolReturned,
    TurnDone,
    TurnFailed,
    TurnLimited,
    TurnStopped,
)
from long_running_agents.domain.memory import Kind
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.store import census

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


class Metrics(Onlooker):
    """Counts, in a registry of its own.

    Args:
        app: The open home.
        clock: Measures durations.
    """

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._tools: set[str] = set()
        self._models: set[str] = set()
        self._working = 0
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        self._count_requests()
        self._count_turns()
        self._measure_the_house()

    def _count_requests(self) -> None:
        own = self.registry
        self._requests = Counter(
            "lra_http_requests", "Requests by route.", ["route", "method", "status"], registry=own
        )
        self._latency = Histogram(
            "lra_http_request_seconds",
            "Time until a response began.",
            ["route", "method"],
            buckets=_QUICK,
            registry=own,
        )
        self._sockets = Gauge("lra_websockets_open", "Open WebSockets.", ["route"], registry=own)
        self._opened = Counter(
            "lra_websockets", "WebSockets that were asked for.", ["route", "outcome"], registry=own
        )
        self._lag = Histogram(
            "lra_event_loop_lag_seconds",
            "How late the event loop was.",
            buckets=_LATE,
            registry=own,
        )
        self._blocked = Counter(
            "lra_event_loop_blocked", f"Times it was late by more than {BLOCKED:g} s.", registry=own
        )

    def _count_turns(self) -> None:
        own = self.registry
        self._turns = Counter("lra_turns", "Turns that ended.", ["outcome"], registry=own)
        for end in _ENDS.values():
            self._turns.labels(end.value)
        self._durations = Histogram(
            "lra_turn_seconds",
            "Work on a turn until it rested.",
            ["status"],
            buckets=_SLOW,
            registry=own,
        )
        self._asked = Counter(
            "lra_model_requests",
            "Steps for which a model was asked.",
            ["model", "outcome"],
            registry=own,
        )
        self._answering = Histogram(
            "lra_model_request_seconds",
            "How long models took.",
            ["model"],
            buckets=_SLOW,
            registry=own,
        )
        self._tokens = Counter(
            "lra_model_tokens", "Tokens in and out.", ["model", "direction"], registry=own
        )
        self._cost = Counter(
            "lra_model_cost_dollars", "US dollars, where prices are known.", ["model"], registry=own
        )
        self._calls = Counter("lra_tool_calls", "Tool calls.", ["tool", "outcome"], registry=own)

    def _measure_the_house(self) -> None:
        own = self.registry
        began = self._clock.monotonic()
        Gauge("lra_uptime_seconds", "Since the server began.", registry=own).set_function(
            lambda: self._clock.monotonic() - began
        )
        Gauge("lra_turns_running", "Turns at work.", registry=own).set_function(
            lambda: self._working
        )
        Gauge("lra_turns_queued", "Turns in line.", registry=own).set_function(
            lambda: max(0, self._app.driver.busy - self._working)
        )
        self._sessions = Gauge("lra_sessions", "Sessions.", registry=own)
        self._approvals = Gauge("lra_approvals_open", "Questions that wait.", registry=own)
        self._memories = Gauge("lra_memories", "Current memories.", ["kind"], registry=own)
        Gauge("lra_database_bytes", "The database and its log.", registry=own).set_function(
            lambda: _size(self._app.database.path)
        )
        build = Gauge("lra_build_info", "What is running.", ["version", "python"], registry=own)
        build.labels(__version__, platform.python_version()).set(1)

    async def exposed(self) -> bytes:
        """Everything, in Prometheus' text format."""
        counted = await self._app.database.read(census.taken)
        self._sessions.set(counted.sessions)
        self._approvals.set(counted.open_approvals)
        for kind in Kind:
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
    def heard(self, recorded: Recorded) -> None:
        event = recorded.event
        if isinstance(event, ToolReturned):
            tool = event.tool if event.tool in self._tools else OTHER
            self._calls.labels(tool, event.outcome).inc()
        elif (end := _ENDS.get(type(event))) is not None:  # pyright: ignore[reportArgumentType] - most events end nothing
            self._turns.labels(end.value).inc()

    @override
    @contextmanager
    def turn(self, seen: Seen) -> Generator[None]:
        since = self._clock.monotonic()
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            passed = self._clock.monotonic() - since
            self._durations.labels(str(seen.status)).observe(passed)

    @override
    def asked(self, asked: Asked) -> None:
        model = self._model(asked.model)
        self._asked.labels(model, asked.outcome).inc()
        self._answering.labels(model).observe(asked.seconds)
        self._tokens.labels(model, "in").inc(asked.input_tokens)
        self._tokens.labels(model, "out").inc(asked.output_tokens)
        self._cost.labels(model).inc(float(asked.cost))

    @override
    def offered(self, tools: Iterable[str]) -> None:
        if len(self._tools) < _MOST_NAMES:
            self._tools.update(tools)

    @override
    def lagged(self, seconds: float) -> None:
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
