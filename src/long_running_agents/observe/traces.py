"""Traces: a span for each turn at work, with the model's requests and the tools' calls beneath."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import baggage, trace
from opentelemetry import context as contexts
from opentelemetry.trace import Span, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel
from pydantic_core import to_json
from typing_extensions import override

from long_running_agents.domain.turn import TurnStatus
from long_running_agents.observe.observers import Observer, RunObservation, TurnObservation
from long_running_agents.tools.middleware import Run

_AGENT = "lra"
_TRACER = "long-running-agents"
_propagator = TraceContextTextMapPropagator()


class Tracing(Observer):
    """Makes the spans; whoever provides the tracers sends them.

    A turn that waits for an answer has come to rest, so it has a span for each stretch of work;
    they have the id of the turn in common. Whose turn it is, is not said.

    Args:
        provider: Where spans go.
        content: Whether they hold what was said, and what tools were given and returned.
    """

    def __init__(self, provider: TracerProvider, *, content: bool = False) -> None:
        self._tracer = provider.get_tracer(_TRACER)
        self._content = content
        self._settings = InstrumentationSettings(
            tracer_provider=provider,
            include_content=content,
            include_binary_content=False,
            # Every tool's schema in every request's span: much to send, nothing to learn.
            include_model_request_parameters=False,
        )

    @contextmanager
    def _span(self, name: str, attributes: Mapping[str, str]) -> Generator[Span]:
        """A span; what ends it early is told by its kind, its words only with the content."""
        with self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except (CallDeferred, ApprovalRequired) as waiting:
                span.set_attribute("pydantic_ai.tool.deferral.name", type(waiting).__name__)
                raise
            except BaseException as error:
                if self._content:
                    span.record_exception(error, escaped=True)
                else:
                    span.add_event("exception", {"exception.type": type(error).__qualname__})
                span.set_status(StatusCode.ERROR)
                raise

    @override
    @contextmanager
    def run(self, seen: RunObservation) -> Generator[None]:
        shared = {
            "gen_ai.agent.name": _AGENT,
            "gen_ai.agent.call.id": seen.turn.id,
            "gen_ai.conversation.id": seen.turn.session_id,
        }
        named = {"gen_ai.operation.name": "invoke_agent", "model_name": seen.model}
        with self._span(f"invoke_agent {_AGENT}", {**shared, **named}) as span:
            context = contexts.get_current()
            for name, value in shared.items():
                context = baggage.set_baggage(name, value, context)
            token = contexts.attach(context)
            try:
                yield
            finally:
                contexts.detach(token)
                span.set_attributes(self._settings.aggregated_usage_attributes(seen.usage))
                told = self._settings.messages_to_otel_messages(list(seen.messages))
                span.set_attribute("pydantic_ai.all_messages", to_json(told, fallback=str).decode())
                if self._content and seen.output is not None:
                    span.set_attribute("final_result", seen.output)

    @override
    def model(self, model: Model) -> Model:
        return InstrumentedModel(model, self._settings)

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool_name,
            "gen_ai.tool.call.id": call.tool_call_id,
            **{name: str(value) for name, value in baggage.get_all().items()},
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = call.args_as_json_str()
        with self._span(f"execute_tool {call.tool_name}", attributes) as span:
            result = await run()
            if self._content:
                told = result if isinstance(result, str) else to_json(result, fallback=str).decode()
                span.set_attribute("gen_ai.tool.call.result", told)
        return result

    @override
    @contextmanager
    def turn(self, seen: TurnObservation) -> Generator[None]:
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
