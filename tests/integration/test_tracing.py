"""Traces: a tree for each turn, without what was said, and only if somebody wants them."""

import os
import subprocess
import sys

import pytest
from fastapi import FastAPI, Request
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.integration.server.serving import listening_app, served
from tests.integration.stories import hands

from long_running_agents.errors import NotConfigured
from long_running_agents.observe.traces import Tracing
from long_running_agents.testing import ScriptedModel, call, fail, make_app, say

pytestmark = pytest.mark.anyio

KEY = "sk-ant-" + "k" * 30
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def look(where: str) -> str:
    """Look around."""
    return f"a chair at {where}"


class Traced:
    """Spans that stay here."""

    def __init__(self, *, content=False):
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = Tracing(provider, content=content)

    async def turn(self, home, *replies, **settings):
        model = ScriptedModel(list(replies))
        async with make_app(home, model=model, toolsets=[hands(look)], **settings) as app:
            app.observers.attend(self.tracing)
            turn = await app.turns.start("one", "Where is the chair?")
            return await app.turns.settled(turn.id)

    def tree(self):
        """Each span's name with its parent's."""
        spans = self.exporter.get_finished_spans()
        names = {span.context.span_id: span.name for span in spans}
        return {(span.name, span.parent and names[span.parent.span_id]) for span in spans}

    def named(self, name):
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


async def test_a_turn_is_a_tree_of_requests_and_calls(tmp_path):
    traced = Traced()
    turn = await traced.turn(tmp_path, call("look", where="home"), say("At home."))
    assert traced.tree() == {
        ("turn", None),
        ("invoke_agent lra", "turn"),
        ("chat scripted", "invoke_agent lra"),
        ("execute_tool look", "invoke_agent lra"),
    }
    [root] = traced.named("turn")
    assert dict(root.attributes) == {
        "lra.session.id": "one",
        "lra.turn.id": turn.id,
        "lra.turn.origin": "user",
        "lra.turn.mode": "bounded",
        "lra.turn.attempt": 1,
        "lra.turn.status": "done",
    }
    asked = traced.named("chat scripted")
    assert len(asked) == 2
    assert asked[0].attributes["gen_ai.operation.name"] == "chat"
    assert asked[0].attributes["gen_ai.request.model"] == "scripted"
    spent = sum(span.attributes["gen_ai.usage.input_tokens"] for span in asked)
    assert spent == turn.spent.input_tokens
    [called] = traced.named("execute_tool look")
    assert called.attributes["gen_ai.tool.name"] == "look"


@pytest.mark.parametrize("content", [False, True])
async def test_what_was_said_is_in_spans_only_if_that_is_wanted(tmp_path, content):
    traced = Traced(content=content)
    await traced.turn(tmp_path, call("look", where="Elm Street"), say("Found it."))
    told = "".join(span.to_json() for span in traced.exporter.get_finished_spans())
    for words in ("Where is the chair", "Elm Street", "a chair at", "Found it"):
        assert (words in told) is content
    assert "owner" not in told


async def test_a_turn_that_fails_is_an_error_without_its_reasons(tmp_path):
    traced = Traced()
    turn = await traced.turn(tmp_path, fail(500), agent__model__retries=0)
    [root] = traced.named("turn")
    assert turn.status == root.attributes["lra.turn.status"] == "failed"
    assert root.status.status_code is StatusCode.ERROR
    assert "told to fail" in turn.error
    told = "".join(span.to_json() for span in traced.exporter.get_finished_spans())
    assert "told to fail" not in told


class Collector:
    """Takes traces over HTTP as a real one does."""

    def __init__(self):
        self.app = FastAPI()
        self.app.post("/v1/traces")(self.take)
        self.requests = []
        self.keys = set()

    async def take(self, request: Request) -> None:
        self.requests.append(ExportTraceServiceRequest.FromString(await request.body()))
        self.keys.add(request.headers.get("x-key"))

    @property
    def resources(self):
        return [each for request in self.requests for each in request.resource_spans]

    @property
    def spans(self):
        scopes = [scope for resource in self.resources for scope in resource.scope_spans]
        return {span.name: span for scope in scopes for span in scope.spans}


async def test_a_collector_gets_the_callers_trace_continued_and_redacted(tmp_path):
    collector = Collector()
    async with listening_app(collector.app) as address:
        settings = {
            "telemetry__otlp_endpoint": address,
            "telemetry__content": True,
            "environ": {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=open%20sesame"},
        }
        async with served(tmp_path, say(f"It is {KEY}."), **settings) as (_, client):
            headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
            await client.post("/api/chat/s", json={"message": f"Keep {KEY}"}, headers=headers)
        # Closing the home has sent what was left.
    spans = collector.spans
    assert spans.keys() == {"turn", "invoke_agent lra", "chat scripted"}
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    assert spans["turn"].parent_span_id.hex() == CALLER
    assert collector.keys == {"open sesame"}
    text = str(collector.requests)
    assert KEY not in text
    assert "It is [redacted]." in text
    [name] = {
        pair.value.string_value
        for resource in collector.resources
        for pair in resource.resource.attributes
        if pair.key == "service.name"
    }
    assert name == "long-running-agents"


@pytest.mark.parametrize("given", ["", "nonsense", f"00-{'0' * 32}-{CALLER}-01", "00-1-2-3"])
async def test_a_trace_that_makes_no_sense_is_not_continued(tmp_path, given):
    collector = Collector()
    async with listening_app(collector.app) as address:
        settings = {"telemetry__otlp_endpoint": address}
        async with served(tmp_path, say("Hi."), **settings) as (_, client):
            headers = {"traceparent": given}
            answer = await client.post("/api/chat/s", json={"message": "Hi"}, headers=headers)
    assert answer.status_code == 200
    assert collector.spans["turn"].parent_span_id == b""


async def test_a_collector_that_is_not_there_disturbs_nobody(tmp_path, capfd):
    settings = {"telemetry__otlp_endpoint": "http://127.0.0.1:9", "log_level": "INFO"}
    async with served(tmp_path, say("Hi."), **settings) as (_, client):
        answer = await client.post("/api/chat/s", json={"message": "Hello"})
    assert answer.json()["text"] == "Hi."
    assert "opentelemetry" in (tmp_path / "logs" / "lra.log").read_text(encoding="utf-8")
    assert capfd.readouterr() == ("", "")


async def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    for name in list(sys.modules):
        if name.startswith("opentelemetry.exporter") or name == "long_running_agents.observe.otlp":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("long_running_agents.observe.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    with pytest.raises(NotConfigured, match=r"long-running-agents\[otel\]"):
        async with make_app(tmp_path, telemetry__otlp_endpoint="http://127.0.0.1:9"):
            pass


PROGRAM = """
import asyncio, sys
from pathlib import Path
from long_running_agents.cli import main, serve
from long_running_agents.clock import SystemClock
from long_running_agents.server.asgi import create_app
from long_running_agents.testing import ScriptedModel, make_app, say

async def run():
    async with make_app(Path(sys.argv[1]), model=ScriptedModel([say("Hi.")])) as app:
        create_app(app, SystemClock())
        turn = await app.turns.start("s", "Hello")
        assert (await app.turns.settled(turn.id)).answer == "Hi."

asyncio.run(run())
found = [name for name in sys.modules if name.startswith(
    ("opentelemetry.sdk", "opentelemetry.exporter", "requests",
     "long_running_agents.observe.otlp")
)]
assert not found, found
"""


def test_who_traces_nothing_loads_nothing_for_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
