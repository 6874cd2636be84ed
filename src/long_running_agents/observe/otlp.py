"""Sending traces to a collector: the only code that knows OpenTelemetry's SDK.

Importing it takes the extra ``[otel]``, so nobody does who sends nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.re import parse_env_headers
from opentelemetry.util.types import AttributeValue
from typing_extensions import override

from long_running_agents.config import LoadedSettings
from long_running_agents.domain.redaction import Redactor
from long_running_agents.observe.traces import Tracing

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""Where the collector's key is found: a variable, since it is a secret."""
NAME = "OTEL_SERVICE_NAME"
"""Another name for this program than its own, where several of it are traced."""

_LEFT_OUT = frozenset({"gen_ai.tool.definitions", "logfire.json_schema", "logfire.msg"})
"""What the agent library says in every span, at length, and nobody looks for."""
_PACKAGE = "long-running-agents"
_PATH = "/v1/traces"
_TIMEOUT = 3.0
"""Seconds a collector has to answer; a program that ends waits about that long for it."""


@asynccontextmanager
async def tracing(loaded: LoadedSettings) -> AsyncGenerator[Tracing]:
    """Trace to the collector of the settings while inside; what is left is sent at the end."""
    exporter = OTLPSpanExporter(
        endpoint=address(loaded.settings.telemetry.otlp_endpoint),
        headers=dict(parse_env_headers(loaded.variables.get(HEADERS, ""), liberal=True)),
        timeout=_TIMEOUT,
    )
    named = {"service.name": loaded.variables.get(NAME, _PACKAGE)}
    provider = TracerProvider(
        resource=Resource.create({**named, "service.version": version(_PACKAGE)}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(RedactingExporter(exporter, loaded.redact)))
    try:
        yield Tracing(provider, content=loaded.settings.telemetry.content)
    finally:
        # It may have to wait for the collector.
        await asyncio.to_thread(provider.shutdown)


def address(endpoint: str) -> str:
    """Where traces go at a collector, whose address is usually given without."""
    plain = endpoint.rstrip("/")
    return plain if plain.endswith(_PATH) else plain + _PATH


class RedactingExporter(SpanExporter):
    """Takes secrets out of spans before they are sent."""

    def __init__(self, exporter: SpanExporter, redact: Redactor) -> None:
        self._exporter = exporter
        self._redact = redact

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([self._clean(span) for span in spans])

    @override
    def shutdown(self) -> None:
        self._exporter.shutdown()

    @override
    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def _clean(self, span: ReadableSpan) -> ReadableSpan:
        said = span.status.description
        return ReadableSpan(
            name=self._redact(span.name),
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=self._attributes(span.attributes),
            events=[
                Event(event.name, self._attributes(event.attributes), event.timestamp)
                for event in span.events
            ],
            links=span.links,
            kind=span.kind,
            status=Status(span.status.status_code, said and self._redact(said)),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _attributes(
        self, attributes: Mapping[str, AttributeValue] | None
    ) -> dict[str, AttributeValue]:
        return {
            name: self._value(value)
            for name, value in (attributes or {}).items()
            if name not in _LEFT_OUT
        }

    def _value(self, value: AttributeValue) -> AttributeValue:
        if isinstance(value, str):
            return self._redact.json(value) if value[:1] in ("{", "[") else self._redact(value)
        if isinstance(value, Sequence):
            return [self._redact(item) if isinstance(item, str) else item for item in value]  # pyright: ignore[reportReturnType] - of one type, as before
        return value
