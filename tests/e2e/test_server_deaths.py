"""Clients and servers die; nobody misses anything, and nobody hears anything twice."""

import asyncio

import httpx2
import pytest
from tests.e2e.served import served
from tests.integration.server.test_pictures import PIXEL, URL
from tests.integration.server.windows import window
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, call, say

pytestmark = pytest.mark.anyio

SLOW = say("Word by word it gets there in the end, " * 5, chunk_delay=0.005)
SCRIPT = Script([Rule("work", (call("create_task", title="Tidy up"), SLOW))])


@pytest.fixture(scope="module")
def model_url():
    with scripted_process(SCRIPT) as url:
        yield url


async def test_a_client_killed_in_mid_stream_sees_each_event_once(model_url, tmp_path):
    with served(tmp_path, model_url) as server:
        async with window(server.address, "/ws/talk") as first:
            await first.send("message", content="work")
            await first.until("text_delta")
            # As a killed process does: the connection is gone, without a word.
            first.socket.transport.abort()
        async with window(server.address, f"/ws/talk?after={first.numbers()[-1]}") as second:
            await second.until("done")
            done = second.heard[-1]
    everything = first.numbers() + second.numbers()
    assert everything == list(range(1, len(everything) + 1))
    assert done["text"] == SLOW.text


async def test_a_server_killed_in_mid_turn_finishes_it_after_the_restart(model_url, tmp_path):
    with served(tmp_path, model_url) as server:
        async with window(server.address, "/ws/talk") as before:
            await before.send("message", content="work")
            await before.until("text_delta")
            await asyncio.to_thread(server.kill)
    with served(tmp_path, model_url) as server:
        async with window(server.address, "/ws/talk") as after:
            await after.send("resume", after=before.numbers()[-1])
            await after.until("done")
        async with httpx2.AsyncClient(base_url=server.address, timeout=300) as client:
            stored = (await client.get("/api/sessions/talk/events")).json()["events"]
    seen = [heard for heard in (*before.heard, *after.heard) if "seq" in heard]
    assert sorted(heard["seq"] for heard in seen) == [heard["seq"] for heard in stored]
    types = [heard["type"] for heard in stored]
    assert types.count("tool_call") == types.count("tool_result") == types.count("done") == 1
    assert "resumed" in types


async def test_a_picture_is_seen_again_after_a_server_was_killed(model_url, tmp_path):
    message = "work on this\n\nAttached files:\n- uploads/dot.png"
    with served(tmp_path, model_url) as server:
        async with (
            httpx2.AsyncClient(base_url=server.address, timeout=300) as client,
            window(server.address, "/ws/picture") as before,
        ):
            path = {"path": "uploads/dot.png"}
            await client.put("/api/files/content", params=path, content=PIXEL)
            await before.send("message", content=message)
            await before.until("text_delta")
            await client.delete("/api/files/content", params=path)
            await asyncio.to_thread(server.kill)
    with served(tmp_path, model_url) as server:
        async with window(server.address, f"/ws/picture?after={before.numbers()[-1]}") as after:
            await after.until("done")
    async with httpx2.AsyncClient(timeout=300) as client:
        asked = (await client.get(f"{model_url.removesuffix('/v1')}/requests")).json()
    shown = [URL in str(each) for each in asked if "uploads/dot.png" in str(each)]
    # Before the call, after it, and once more after the death.
    assert shown == [True] * 3


async def test_a_server_that_is_asked_to_end_lets_the_turn_go_on_later(model_url, tmp_path):
    with served(tmp_path, model_url) as server:
        async with window(server.address, "/ws/talk") as before:
            await before.send("message", content="work")
            await before.until("text_delta")
            server.process.terminate()
            code = await asyncio.to_thread(server.process.wait, 30)
    with served(tmp_path, model_url) as server:
        async with window(server.address, f"/ws/talk?after={before.numbers()[-1]}") as after:
            done = await after.until("done")
    assert code == 0
    assert done["text"] == SLOW.text
