"""What leaves for a collector."""

import json

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from long_running_agents.domain.redaction import Redactor
from long_running_agents.observe.otlp import RedactingExporter, address

SECRET = "correct horse"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("http://c:4318/", "http://c:4318/v1/traces"),
        ("https://c/otlp", "https://c/otlp/v1/traces"),
        ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
    ],
)
def test_traces_go_where_collectors_take_them(given, url):
    assert address(given) == url


def test_no_part_of_a_span_keeps_a_secret():
    sent = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(RedactingExporter(sent, Redactor([SECRET]))))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("parent"):
        span = tracer.start_span(f"call {SECRET}", attributes={"text": f"a {SECRET} b", "n": 7})
        span.set_attribute("json", json.dumps({"password": SECRET}))
        span.set_attribute("list", ["x", SECRET])
        span.set_attribute("gen_ai.tool.definitions", "[]")
        span.add_event("exception", {"exception.message": SECRET})
        span.set_status(Status(StatusCode.ERROR, f"no {SECRET}"))
        span.end()
    child, parent = sent.get_finished_spans()
    assert SECRET not in child.to_json()
    assert child.name == "call [redacted]"
    assert dict(child.attributes) == {
        "text": "a [redacted] b",
        "n": 7,
        "json": '{"password":"[redacted]"}',
        "list": ["x", "[redacted]"],
    }
    assert child.status.description == "no [redacted]"
    assert child.events[0].attributes == {"exception.message": "[redacted]"}
    assert child.parent == parent.context
    assert child.start_time <= child.end_time
