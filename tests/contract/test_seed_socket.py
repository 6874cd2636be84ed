"""The documented WebSocket protocol and chat, message by message and field by field."""

import httpx2
import pytest
from tests.e2e.served import served
from tests.integration.server.windows import window
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, call, fail, say

pytestmark = pytest.mark.anyio

SCRIPT = Script(
    [
        Rule("files", (call("list_directory", path="."), say("Here are your files..."))),
        Rule("plan", (call("create_task", title="Look"), say("Planned."))),
        Rule("break", (fail(401), fail(401))),
        Rule("hello", (say("Hello."),)),
    ]
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with (
        scripted_process(SCRIPT) as url,
        served(tmp_path_factory.mktemp("home"), url) as server,
    ):
        yield server.address


async def heard(address, session, text, *, until="done", mode=None):
    async with window(address, f"/ws/{session}") as socket:
        if mode is not None:
            await socket.send("set_mode", mode=mode)
            await socket.until("mode_changed")
        await socket.send("message", content=text)
        await socket.until(until)
    return {message["type"]: message for message in socket.heard}


async def test_a_turn_with_a_tool(address):
    told = await heard(address, "tool", "show my files")
    assert told["thinking"]["iteration"] >= 1
    assert told["tool_call"]["tool"] == "list_directory"
    assert told["tool_call"]["input"] == {"path": "."}
    assert told["tool_call"]["tool_call_id"]
    result = told["tool_result"]
    assert (result["tool"], result["success"]) == ("list_directory", True)
    assert isinstance(result["result_preview"], str)
    assert isinstance(result["duration_ms"], int)
    assert told["text"]["text"] == "Here are your files..."
    done = told["done"]
    assert (done["text"], done["iterations"]) == ("Here are your files...", 2)
    assert (done["model"], done["mode"]) == ("custom:scripted", "bounded")
    assert done["usage"].keys() >= {"input_tokens", "output_tokens"}


async def test_deep_work(address):
    told = await heard(address, "deep", "make a plan", mode="deep_work")
    assert told["mode_changed"]["mode"] == "deep_work"
    thinking = told["thinking"]
    assert (thinking["max_iterations"], thinking["token_budget"]) == (200, 1_500_000)
    assert thinking["tokens_used"] > 0
    assert thinking["task_summary"] == "0 of 1 tasks completed"
    [task] = told["task_update"]["tasks"]
    assert task["title"] == "Look"
    assert told["task_update"]["summary"]
    assert told["done"]["mode"] == "deep_work"


async def test_what_else_a_client_says(address):
    async with window(address, "/ws/else") as socket:
        await socket.send("ping")
        await socket.until("pong")
        await socket.send("message", content="hello")
        await socket.until("done")
        await socket.send("clear")
        await socket.until("cleared")
        await socket.send("set_mode", mode="bounded")
        assert (await socket.until("mode_changed"))["mode"] == "bounded"


async def test_a_turn_that_fails(address):
    told = await heard(address, "broken", "break down", until="error")
    assert told["error"]["message"]


async def test_activity_of_all_sessions(address):
    async with window(address, "/ws/activity") as socket:
        await heard(address, "busy", "show my files")
        called = await socket.until("tool_call")
        result = await socket.until("tool_result")
    assert called["session_id"] == result["session_id"] == "busy"


async def test_blocking_chat(address):
    async with httpx2.AsyncClient(base_url=address, timeout=300) as client:
        usual = await client.post("/api/chat/my-session", json={"message": "show my files"})
        deep = await client.post(
            "/api/chat/my-session", json={"message": "hello", "mode": "deep_work"}
        )
    fields = {"session_id", "turn_id", "status", "text", "iterations", "model", "usage", "mode"}
    assert usual.json().keys() >= fields
    assert (usual.json()["text"], usual.json()["mode"]) == ("Here are your files...", "bounded")
    assert (deep.json()["text"], deep.json()["mode"]) == ("Hello.", "deep_work")
