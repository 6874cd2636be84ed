"""The log: every line knows its request and turn, and no line knows a secret."""

import asyncio
import json

import pytest
from tests.integration.server.serving import served
from tests.integration.server.windows import window
from websockets.exceptions import InvalidStatus

from long_running_agents.testing import call, hang, say

pytestmark = pytest.mark.anyio

SECRET = "sk-ant-" + "x" * 30


def told(home):
    text = (home / "logs" / "lra.log").read_text(encoding="utf-8")
    assert SECRET not in text
    return [json.loads(line) for line in text.splitlines()]


async def test_a_turn_is_found_by_the_request_that_began_it(tmp_path):
    settings = {"log_level": "INFO", "log_format": "json"}
    async with served(tmp_path, hang(), say("Two."), **settings) as (_, client):
        first, second = {"X-Request-Id": "first"}, {"X-Request-Id": "second"}
        # There before the session is, so that it hears of all that happens in it.
        async with window(client.base_url, "/ws/s") as socket:
            one = asyncio.create_task(
                client.post("/api/chat/s", json={"message": "One"}, headers=first)
            )
            await socket.until("thinking")
            # Waits in line behind the other, in the same session.
            two = asyncio.create_task(
                client.post("/api/chat/s", json={"message": "Two"}, headers=second)
            )
            await socket.until("message")
            await client.post("/api/sessions/s/stop", headers={"X-Request-Id": "third"})
            answers = await asyncio.gather(one, two)
    turns = {
        (line["request_id"], line["turn_id"], line["session_id"])
        for line in told(tmp_path)
        if line["logger"].endswith("driver")
    }
    assert turns == {
        ("first", answers[0].json()["turn_id"], "s"),
        ("second", answers[1].json()["turn_id"], "s"),
    }


async def test_each_request_has_its_line_and_its_name(tmp_path):
    async with served(tmp_path, log_level="INFO", log_format="json") as (_, client):
        named = await client.get("/health", headers={"X-Request-Id": "mine"})
        wrong = await client.get("/api/nothing", headers={"X-Request-Id": "not harmless"})
        async with window(client.base_url, "/ws/talk") as socket:
            await socket.next()
            name = socket.socket.response.headers["X-Request-Id"]
    lines = {line["request_id"]: line for line in told(tmp_path)}
    assert named.headers["X-Request-Id"] == "mine"
    assert {key: lines["mine"][key] for key in ("level", "method", "route", "status")} == {
        "level": "INFO", "method": "GET", "route": "/health", "status": 200,
    }  # fmt: skip
    assert lines[wrong.headers["X-Request-Id"]]["status"] == 404
    assert (lines[name]["method"], lines[name]["route"]) == ("WS", "/ws/{session_id}")


async def test_no_secret_is_in_the_log_wherever_it_was_said(tmp_path):
    replies = [call("search_memory", query=SECRET), say(f"It is {SECRET}.")]
    async with served(tmp_path, *replies, log_level="DEBUG", log_format="json") as (_, client):
        headers = {"X-Request-Id": SECRET, "Authorization": f"Bearer {SECRET}"}
        await client.post(
            f"/api/chat/s?key={SECRET}", json={"message": f"Keep {SECRET}"}, headers=headers
        )
        await client.get(f"/api/sessions/{SECRET}/turns", headers={"Cookie": f"a={SECRET}"})
        with pytest.raises(InvalidStatus, match="400"):
            async with window(client.base_url, f"/ws/s?token={SECRET}"):
                pass
        async with window(client.base_url, "/ws/s") as socket:
            await socket.raw(SECRET)
            await socket.until("error")
    lines = told(tmp_path)
    assert {line.get("request_id") for line in lines} >= {"[redacted]"}
    assert all("?" not in line["message"] for line in lines)


async def test_at_the_usual_level_nothing_is_said_of_good_requests(tmp_path):
    async with served(tmp_path, say("Hi.")) as (_, client):
        await client.post("/api/chat/s", json={"message": "Hello"})
    assert not (tmp_path / "logs" / "lra.log").exists()
