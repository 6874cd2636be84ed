"""What the agent over MCP needs of the other routes."""

import pytest
from tests.contract.mcp.homes import plain, until, write
from tests.integration.server.owners import believing
from tests.integration.server.serving import served

from long_running_agents.cli.access import LocalApi
from long_running_agents.clock import SystemClock
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.server.routes.files import offered
from long_running_agents.testing import hang, say

pytestmark = pytest.mark.anyio


async def test_one_turn_is_stopped_wherever_in_line_it_is(tmp_path):
    async with served(tmp_path, hang(), say("Never.")) as (app, client):
        first = await app.turns.start("s", "Wait")
        second = await app.turns.start("s", "Behind it")
        told = await client.post(f"/api/turns/{second.id}/stop")
        assert (told.status_code, told.json()["status"]) == (200, "stopped")
        assert not (await app.turns.get(first.id)).status.ended
        again = await client.post(f"/api/turns/{second.id}/stop")
        assert again.json()["status"] == "stopped"


async def test_a_turn_of_somebody_else_is_not_there(tmp_path):
    async with believing(tmp_path) as (app, client):
        turn = await app.turns.of("me").start("s", "Hello")
        await app.turns.settled(turn.id)
        stopping = f"/api/turns/{turn.id}/stop"
        assert await client("ann").refused("POST", stopping) == (404, "not_found")
        assert (await app.turns.get(turn.id)).status is not TurnStatus.STOPPED


async def test_a_program_may_say_that_it_only_passes_something_on(tmp_path):
    async with served(tmp_path) as (_, client):
        new = {"content": "The heron eats frogs.", "trust": "tool", "source": "mcp"}
        told = (await client.post("/api/memory", json=new)).json()["memory"]
        assert (told["trust"], told["source"]) == ("tool", "mcp")


async def test_requests_are_counted_by_their_route(tmp_path):
    async with served(tmp_path) as (_, client):
        await client.post("/mcp", json={})
        assert 'route="/mcp"' in (await client.get("/metrics")).text


async def test_foreign_servers_are_shown_with_their_tools_or_why_there_are_none(tmp_path):
    look = {"name": "look", "description": "Looks around s3cret."}
    write(
        tmp_path,
        plain={**plain(tmp_path / "scripts", look, {"name": "odd"}), "deny": ["o*"]},
        gone={"command": "no-such-program", "args": ["s3cret"], "env": {"A_KEY": "s3cret"}},
        off={"command": "no-such-program", "disabled": True},
    )
    async with served(tmp_path) as (app, client):
        await client.get("/api/mcp")
        # However slow the machine is.
        await until(lambda: app.servers.each[0].status.listing.offers)
        await until(lambda: app.servers.each[1].status.state == "failed")
        told = (await client.get("/api/mcp")).json()["servers"]
        tools = (await client.get("/api/tools")).json()["tools"]
        chat = LocalApi(app, SystemClock(), SystemClock().now())
        assert {"read_file", "plain_look"} <= set(await chat.tools())
        assert not any(each.family == "mcp" for each in await offered(app, "somebody else"))

    [foreign] = [each for each in tools if each["kind"] == "mcp"]
    assert (foreign["name"], foreign["foreign"], foreign["enabled"]) == ("plain_look", True, True)
    assert "Looks around [redacted]." in foreign["description"]
    assert [(each["name"], each["state"]) for each in told] == [
        ("plain", "ready"),
        ("gone", "failed"),
        ("off", "disabled"),
    ]
    ready, refused = told[0]["tools"]
    assert (ready["name"], ready["refused"]) == ("plain_look", "")
    assert "Looks around" in ready["description"]
    assert (refused["name"], bool(refused["refused"])) == ("odd", True)
    assert "no-such-program" in told[1]["reason"]
    assert "s3cret" not in str(told)
