"""What the agent over MCP needs of the other routes."""

import pytest
from tests.integration.server.owners import believing
from tests.integration.server.serving import served

from long_running_agents.domain.turn import TurnStatus
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
