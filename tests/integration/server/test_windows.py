"""WebSockets on sessions: one reader, one writer, each event once."""

import asyncio

import pytest
from tests.integration.server.serving import served
from tests.integration.server.windows import window
from tests.integration.stories import hands

from long_running_agents.testing import ScriptedModel, call, hang, say

pytestmark = pytest.mark.anyio


async def test_a_conversation(tmp_path):
    async with (
        served(tmp_path, say("Hi."), say("Bye.")) as (_, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        assert (await socket.next())["type"] == "connected"
        await socket.send("message", content="Hello")
        done = await socket.until("done")
        await socket.send("message", content="Goodbye")
        await socket.until("done")
    assert (done["text"], done["iterations"], done["mode"]) == ("Hi.", 1, "bounded")
    assert socket.numbers() == [1, 2, 3, 4, 5, 6]
    assert socket.types()[:3] == ["connected", "message", "thinking"]


async def test_the_reader_is_free_while_a_turn_runs(tmp_path):
    async with (
        served(tmp_path, hang()) as (_, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        await socket.send("message", content="Think for ever")
        await socket.until("thinking")
        await socket.send("ping")
        await socket.until("pong")
        await socket.send("stop")
        await socket.until("stopped")
        await socket.send("stop")
        error = await socket.until("error")
    assert error["code"] == "busy"


async def test_an_approval_is_granted_over_the_same_socket(tmp_path):
    def clean() -> str:
        """Clean up."""
        return "clean"

    settings = {"toolsets": [hands(clean)], "agent__tools__require_approval": ["clean"]}
    async with (
        served(tmp_path, call("clean"), say("Clean."), **settings) as (_, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        await socket.send("message", content="Clean up")
        asked = await socket.until("approval_request")
        await socket.send("approval_response", approval_id=asked["approval_id"], approved=True)
        resolved = await socket.until("approval_resolved")
        result = await socket.until("tool_result")
        await socket.until("done")
        await socket.send("approval_response", approval_id=asked["approval_id"], allowed=True)
        again = await socket.until("error")
    assert (resolved["allowed"], result["success"], again["code"]) == (True, True, "busy")


async def test_two_windows_see_the_same(tmp_path):
    async with (
        served(tmp_path, say("Hi.")) as (_, client),
        window(client.base_url, "/ws/talk") as one,
        window(client.base_url, "/ws/talk") as two,
    ):
        await asyncio.gather(one.until("connected"), two.until("connected"))
        await one.send("message", content="Hello")
        await asyncio.gather(one.until("done"), two.until("done"))
    assert one.numbers() == two.numbers() == [1, 2, 3]


async def test_who_was_away_hears_what_it_missed_once_and_in_order(tmp_path):
    async with served(tmp_path, say("One."), say("Two."), say("Three.")) as (_, client):
        async with window(client.base_url, "/ws/talk") as socket:
            await socket.send("message", content="1")
            await socket.until("done")
        await client.post("/api/chat/talk", json={"message": "2"})
        async with window(client.base_url, "/ws/talk") as back:
            await back.send("resume", after=socket.numbers()[-1])
            await back.until("done")
            await back.send("message", content="3")
            await back.until("done")
        async with window(client.base_url, "/ws/talk?after=6") as late:
            await late.until("done")
    assert socket.numbers() == [1, 2, 3]
    assert back.numbers() == [4, 5, 6, 7, 8, 9]
    assert late.numbers() == [7, 8, 9]


async def test_a_mode_is_set_before_the_first_message(tmp_path):
    async with (
        served(tmp_path, say("Deep.")) as (app, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        await socket.send("set_mode", mode="deep_work")
        changed = await socket.until("mode_changed")
        await socket.send("message", content="Research this")
        thinking = await socket.until("thinking")
        done = await socket.until("done")
        title = (await app.sessions.get("talk")).title
    assert (changed["mode"], done["mode"], title) == ("deep_work", "deep_work", "Research this")
    assert (thinking["max_iterations"], thinking["token_budget"]) == (200, 1_500_000)
    assert thinking["task_summary"] == "no tasks"


async def test_clear_lets_the_model_begin_anew_and_destroys_nothing(tmp_path):
    model = ScriptedModel([say("One."), say("Two.")])
    async with (
        served(tmp_path, model=model, memory__recall=False) as (app, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        await socket.send("message", content="My name is Ada")
        await socket.until("done")
        await socket.send("clear")
        await socket.until("cleared")
        await socket.send("message", content="Who am I?")
        await socket.until("done")
        turns = await app.sessions.turns("talk")
    assert len(turns) == 2
    assert "Ada" in str(model.requests[0])
    assert "Ada" not in str(model.requests[1])


@pytest.mark.parametrize(
    "frame",
    [
        "not json",
        "[]",
        "null",
        '{"type": "dance"}',
        '{"content": "no type"}',
        '{"type": "message"}',
        '{"type": "message", "content": 7}',
        '{"type": "message", "content": ""}',
        '{"type": "message", "content": "\\ud800"}',
        '{"type": "resume", "after": -1}',
        '{"type": "resume", "after": "1"}',
        '{"type": "resume", "after": NaN}',
        '{"type": "set_mode", "mode": "wild"}',
        '{"type": "approval_response", "approval_id": "a", "allowed": "yes"}',
        "[" * 100_000,
        '{"type": "resume", "after": ' + "9" * 5000 + "}",
        b"\x00\x01",
    ],
)
async def test_nonsense_gets_an_error_and_the_socket_stays(tmp_path, frame):
    async with (
        served(tmp_path) as (app, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        await socket.raw(frame)
        error = await socket.until("error")
        await socket.send("ping")
        await socket.until("pong")
        assert await app.sessions.count() == 0
    assert error["code"] == "bad_request"
    assert error["message"]


async def test_activity_tells_of_all_sessions(tmp_path):
    def look() -> str:
        """Look around."""
        return "nothing"

    async with (
        served(tmp_path, call("look"), say("Hi."), toolsets=[hands(look)]) as (_, client),
        window(client.base_url, "/ws/activity") as socket,
    ):
        await socket.send("ping")
        await socket.until("pong")
        await client.post("/api/chat/one", json={"message": "Look"})
        called = await socket.until("tool_call")
        result = await socket.until("tool_result")
        await socket.send("stop")
        error = await socket.until("error")
    assert (called["tool"], called["session_id"], result["success"]) == ("look", "one", True)
    assert error["code"] == "bad_request"


async def test_a_client_that_does_not_read_slows_nobody(tmp_path):
    long = say("word " * 2_000)
    async with (
        served(tmp_path, *[long] * 40, memory__enabled=False) as (app, client),
        window(client.base_url, "/ws/talk", max_queue=1) as slow,
    ):
        # Its socket is never read; the turns go on all the same.
        for _ in range(40):
            answer = await client.post("/api/chat/talk", json={"message": "Talk"})
            assert answer.json()["status"] == "done"
        last = await app.sessions.last_event("talk")
        while slow.numbers()[-1:] != [last]:
            await slow.next()
    assert slow.numbers() == list(range(1, last + 1))


async def test_plans_are_understood_although_none_waits(tmp_path):
    async with (
        served(tmp_path) as (_, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        for answer in ("approve_plan", "revise_plan"):
            await socket.send(answer)
            assert (await socket.until("error"))["code"] == "busy"
