"""Numbers for Prometheus: they move, they end, and they tell on nobody."""

import asyncio

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.integration.server.serving import listening_app, served
from tests.integration.server.windows import window
from tests.integration.stories import hands

from long_running_agents.clock import SystemClock
from long_running_agents.domain.auth import Caller, TokenScope
from long_running_agents.observe.metrics import OTHER, Access, Metrics
from long_running_agents.observe.observers import ModelRequestObservation
from long_running_agents.server.asgi import api, create_app
from long_running_agents.server.auth import CALLER
from long_running_agents.testing import ScriptedModel, call, fail, hang, make_app, say

pytestmark = pytest.mark.anyio


class Numbers:
    """What /metrics says."""

    def __init__(self, text):
        self.families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in self.families for sample in family.samples]

    def of(self, name, **labels):
        """The sum of all samples that have these labels."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def labels(self, label):
        return {sample.labels[label] for sample in self.samples if label in sample.labels}


async def numbers(client):
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return Numbers(answer.text)


async def test_numbers_move_when_a_turn_runs(tmp_path):
    def look() -> str:
        """Look around."""
        return "nothing"

    replies = [call("look"), call("invented"), say("Hi.")]
    async with served(tmp_path, *replies, toolsets=[hands(look)]) as (app, client):
        before = await numbers(client)
        await client.post("/api/chat/one", json={"message": "Hello"})
        await app.remembered()
        after = await numbers(client)
    assert before.of("lra_turns_total") == 0
    assert after.of("lra_turns_total", outcome="done") == 1
    assert after.of("lra_turn_seconds_count", status="done") == 1
    assert after.of("lra_model_requests_total", model="scripted", outcome="done") == 3
    assert after.of("lra_model_tokens_total", direction="in") > 100
    assert after.of("lra_model_tokens_total", direction="out") > 0
    assert after.of("lra_tool_calls_total", tool="look", outcome="done") == 1
    assert after.of("lra_tool_calls_total", tool=OTHER, outcome="failed") == 1
    assert after.of("lra_sessions") == 1
    assert after.of("lra_memories", kind="conversation") >= 1
    assert after.of("lra_http_requests_total", route="/api/chat/{session_id}", status="200") == 1
    assert after.of("lra_http_request_seconds_count", method="POST") == 1
    for always in (
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "lra_uptime_seconds",
        "lra_database_bytes",
        "lra_build_info",
    ):
        assert after.of(always) > 0
    assert not any(sample.name.endswith("_created") for sample in after.samples)


async def test_what_runs_waits_and_goes_wrong_is_told_apart(tmp_path):
    def clean() -> str:
        """Clean up."""
        return "clean"

    settings = {
        "toolsets": [hands(clean)],
        "agent__tools__require_approval": ["clean"],
        "agent__model__retries": 0,
    }
    replies = [call("clean"), hang(), fail(500)]
    async with (
        served(tmp_path, *replies, **settings) as (app, client),
        window(client.base_url, "/ws/slow") as socket,
    ):
        await client.post("/api/chat/asks", json={"message": "Clean up"})
        await socket.send("message", content="Think for ever")
        await socket.until("thinking")
        await app.turns.start("slow", "Wait in line")
        during = await numbers(client)
        await socket.send("stop")
        await socket.until("stopped")
        await socket.until("error")
        after = await numbers(client)
    assert during.of("lra_approvals_open") == 1
    assert during.of("lra_turn_seconds_count", status="waiting") == 1
    assert (during.of("lra_turns_running"), during.of("lra_turns_queued")) == (1, 1)
    assert during.of("lra_websockets_open", route="/ws/{session_id}") == 1
    assert after.of("lra_turns_total", outcome="stopped") == 1
    assert after.of("lra_turns_total", outcome="failed") == 1
    assert after.of("lra_model_requests_total", outcome="stopped") == 1
    assert after.of("lra_model_requests_total", outcome="failed") == 1
    assert (after.of("lra_turns_running"), after.of("lra_turns_queued")) == (0, 0)


async def test_closed_sockets_are_no_longer_open(tmp_path):
    async with served(tmp_path) as (_, client):
        async with window(client.base_url, "/ws/one") as socket:
            await socket.next()
        async with asyncio.timeout(200):
            # The server hears of it when it hears of it; each look gives it a round.
            while (after := await numbers(client)).of("lra_websockets_open") > 0:
                pass
    assert after.of("lra_websockets_total", outcome="accepted") == 1


async def test_a_thousand_unknown_paths_are_one_label(tmp_path):
    async with served(tmp_path) as (_, client):
        await numbers(client)
        few = len((await numbers(client)).samples)
        for number in range(1000):
            await client.get(f"/{number}/nowhere?q={number}")
        for number in range(20):
            await client.get(f"/api/sessions/{number}/turns")
        after = await numbers(client)
    assert after.of("lra_http_requests_total", route="unmatched", status="404") == 1000
    assert after.labels("route") == {
        "unmatched", "/metrics", "/api/sessions/{session_id}/turns",
    }  # fmt: skip
    assert len(after.samples) < few + 50


async def test_names_of_models_do_not_grow_for_ever(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        metrics = Metrics(app, SystemClock())
        for number in range(1000):
            metrics.on_model_request(
                ModelRequestObservation(
                    model=f"m{number}", outcome="done", seconds=1.0, output_tokens=1
                )
            )
        found = Numbers((await metrics.exposed()).decode())
    assert len(found.labels("model")) == 201
    assert found.of("lra_model_tokens_total") == 1000
    assert found.of("lra_model_requests_total", model=OTHER) == 800


async def test_two_homes_in_one_process_count_apart(tmp_path):
    async with (
        served(tmp_path / "one", say("Hi.")) as (_, one),
        served(tmp_path / "two") as (_, two),
    ):
        await one.post("/api/chat/s", json={"message": "Hello"})
        assert (await numbers(one)).of("lra_turns_total") == 1
        assert (await numbers(two)).of("lra_turns_total") == 0


async def test_only_an_administrator_sees_everybodys_numbers(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        metrics = Metrics(app, SystemClock())
        inner = api(app, SystemClock(), metrics=metrics)

        async def guarded(scope, receive, send):
            caller = Caller(owner="me", scopes=frozenset(TokenScope) - {TokenScope.ADMIN})
            scope.setdefault("state", {})[CALLER] = caller
            await inner(scope, receive, send)

        async with (
            listening_app(Access(guarded, metrics, SystemClock())) as address,
            httpx2.AsyncClient(base_url=address, timeout=300) as client,
        ):
            refused = await client.get("/metrics")
        assert (refused.status_code, refused.json()["code"]) == (403, "denied")
        # What is refused is counted as well.
        found = Numbers((await metrics.exposed()).decode())
        assert found.of("lra_http_requests_total", route="/metrics", status="403") == 1


async def test_counting_is_stopped_by_nobody_who_breaks(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        metrics = Metrics(app, SystemClock())

        async def broken(scope, receive, send):
            raise RuntimeError("a bug")

        with pytest.raises(RuntimeError):
            await Access(broken, metrics, SystemClock())(
                {"type": "http", "method": "BREW", "path": "/"}, None, None
            )
        found = Numbers((await metrics.exposed()).decode())
    assert found.of("lra_http_requests_total", method=OTHER, status="500") == 1


async def test_lag_is_counted(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        create_app(app, SystemClock())
        metrics = Metrics(app, SystemClock())
        app.observers.attend(metrics)
        for seconds in (0.0, 0.2, 0.3):
            app.observers.on_loop_lag(seconds)
        found = Numbers((await metrics.exposed()).decode())
    assert found.of("lra_event_loop_lag_seconds_count") == 3
    assert found.of("lra_event_loop_blocked_total") == 1
