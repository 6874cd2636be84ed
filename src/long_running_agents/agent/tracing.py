"""Traces: a span for each turn at work, with the model's requests and the tools' calls beneath."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from typing_extensions import override

from long_running_agents.agent.onlookers import Onlooker, Seen
from long_running_agents.domain.turn import TurnStatus

_TRACER = "long-running-agents"
_propagator = TraceContextTextMapPropagator()


class Tracing(Onlooker):
    """Makes the spans; whoever provides the tracers sends them.

    A turn that waits for an answer has come to rest, so it has a span for each stretch of work;
    they have the id of the turn in common. Whose turn it is, is not said.

    Args:
        provider: Where spans go.
        content: Whether they hold what was said, and what tools were given and returned.
    """

    def __init__(self, provider: TracerProvider, *, content: bool = False) -> None:
        self._tracer = provider.get_tracer(_TRACER)
        self._inside = Instrumentation(
            settings=InstrumentationSettings(
                tracer_provider=provider,
                include_content=content,
                include_binary_content=False,
                # Every tool's schema in every request's span: much to send, nothing to learn.
                include_model_request_parameters=False,
            )
        )

    @override
    def inside(self) -> Sequence[Instrumentation]:
        return [self._inside]

    @override
    @contextmanager
    def turn(self, seen: Seen) -> Generator[None]:
        turn = seen.turn
        attributes = {
            "lra.session.id": turn.session_id,
            "lra.turn.id": turn.id,
            "lra.turn.origin": turn.origin.value,
            "lra.turn.mode": turn.mode.value,
            "lra.turn.attempt": turn.attempts,
        }
        with self._tracer.start_as_current_span(
            "turn", attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            finally:
                span.set_attribute("lra.turn.status", str(seen.status))
                if seen.status == TurnStatus.FAILED:
                    span.set_status(StatusCode.ERROR)


@contextmanager
def continued(headers: Mapping[str, str]) -> Generator[None]:
    """Be a part of the trace that a caller tells of, if it does so in a way that makes sense."""
    context = _propagator.extract(headers)
    if not trace.get_current_span(context).get_span_context().is_valid:
        yield
        return
    token = contexts.attach(context)
    try:
        yield
    finally:
        contexts.detach(token)
