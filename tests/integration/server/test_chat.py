"""Talking over HTTP."""

import json

import pytest
from tests.integration.server.serving import served
from tests.integration.stories import hands

from long_running_agents.server import http
from long_running_agents.testing import call, fail, say

pytestmark = pytest.mark.anyio


async def test_a_message_gets_its_answer_with_every_documented_field(tmp_path):
    async with served(tmp_path, say("Hello to you.")) as (_, client):
        answer = await client.post("/api/chat/my-session", json={"message": "Hello"})
    assert answer.status_code == 200
    body = answer.json()
    assert body["session_id"] == "my-session"
    assert (body["status"], body["text"], body["iterations"]) == ("done", "Hello to you.", 1)
    assert body["mode"] == "bounded"
    assert set(body) >= {"turn_id", "model", "usage"}


async def test_what_no_call_has_seen_is_told_with_the_answer(tmp_path):
    replies = (
        say("I wrote a.md."),
        call("write_file", path="b.md", content="x"),
        say("I wrote b.md."),
    )
    async with served(tmp_path, *replies) as (_, client):
        lie = (await client.post("/api/chat/s", json={"message": "Write"})).json()
        truth = (await client.post("/api/chat/s", json={"message": "Write"})).json()
        again = (await client.get(f"/api/turns/{lie['turn_id']}")).json()
    assert (lie["not_seen"], truth["not_seen"], again["not_seen"]) == (["a.md"], [], ["a.md"])


async def test_deep_work_is_chosen_for_one_message(tmp_path):
    async with served(tmp_path, say("Done."), say("Done.")) as (_, client):
        deep = await client.post("/api/chat/s", json={"message": "Work", "mode": "deep_work"})
        rest = {"message": "Rest", "mode": "bounded"}
        usual = await client.post("/api/chat/s", json=rest)
    assert (deep.json()["mode"], usual.json()["mode"]) == ("deep_work", "bounded")


async def test_the_same_key_twice_is_one_turn(tmp_path):
    async with served(tmp_path, say("Once.")) as (app, client):
        headers = {"Idempotency-Key": "k1"}
        first = await client.post("/api/chat/s", json={"message": "Go"}, headers=headers)
        again = await client.post("/api/chat/s", json={"message": "Go"}, headers=headers)
        other = await client.post("/api/chat/s", json={"message": "Stop"}, headers=headers)
        turns = await app.sessions.turns("s")
    assert first.json() == again.json()
    assert len(turns) == 1
    assert (other.status_code, other.json()["code"]) == (400, "bad_request")


async def test_a_model_that_fails_is_no_success(tmp_path):
    settings = {"agent__model__retries": 0}
    async with served(tmp_path, fail(500), fail(500), **settings) as (app, client):
        answer = await client.post("/api/chat/s", json={"message": "Go"})
        body = answer.json()
        turn = await app.turns.get(body["turn_id"])
    assert answer.status_code == 503
    assert (body["type"], body["code"]) == ("error", "model_unavailable")
    assert turn.status == "failed"


async def test_a_question_is_told_and_its_answer_lets_the_turn_go_on(tmp_path):
    done = []

    def clean() -> str:
        """Clean up."""
        done.append(1)
        return "clean"

    settings = {
        "toolsets": [hands(clean)],
        "agent__tools__require_approval": ["clean"],
    }
    async with served(tmp_path, call("clean"), say("Clean."), **settings) as (app, client):
        asked = (await client.post("/api/chat/s", json={"message": "Go"})).json()
        assert (asked["status"], done) == ("waiting", [])
        [question] = asked["approvals"]
        await app.turns.answer(question["approval_id"], allowed=True)
        await app.turns.settled(asked["turn_id"])
        told = (await client.get(f"/api/turns/{asked['turn_id']}")).json()
    assert (told["status"], told["text"], done) == ("done", "Clean.", [1])


async def test_a_stream_tells_everything_to_the_end(tmp_path):
    async with (
        served(tmp_path, say("One two three.")) as (_, client),
        client.stream(
            "POST",
            "/api/chat/s",
            json={"message": "Count"},
            headers={"Accept": "text/event-stream"},
        ) as answer,
    ):
        lines = [line async for line in answer.aiter_lines()]
    heard = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [each["seq"] for each in heard if "seq" in each] == [1, 2, 3]
    assert heard[-1]["type"] == "done"
    assert "".join(each["text"] for each in heard if each["type"] == "text_delta") == (
        "One two three."
    )


async def test_events_are_read_page_by_page(tmp_path):
    async with served(tmp_path, say("One.")) as (_, client):
        await client.post("/api/chat/s", json={"message": "Go"})
        first = (await client.get("/api/sessions/s/events?limit=2")).json()
        rest = (await client.get(f"/api/sessions/s/events?after={first['last_seq']}")).json()
    assert [each["seq"] for each in first["events"]] == [1, 2]
    assert (first["more"], rest["more"]) == (True, False)
    assert [each["type"] for each in rest["events"]] == ["done"]


async def test_looking_makes_nothing(tmp_path):
    async with served(tmp_path) as (app, client):
        for path in ("turns", "events"):
            assert (await client.get(f"/api/sessions/nobody/{path}")).status_code == 404
        assert (await client.post("/api/sessions/nobody/stop")).status_code == 404
        assert (await client.get("/api/turns/turn_nothing")).status_code == 404
        assert await app.sessions.count() == 0


@pytest.mark.parametrize(
    "body", [{}, {"message": ""}, {"message": 1}, {"message": "x", "mode": "wild"}, [], "x"]
)
async def test_a_wrong_body_is_told_with_its_field(tmp_path, body):
    async with served(tmp_path) as (app, client):
        answer = await client.post("/api/chat/s", json=body)
        assert await app.sessions.count() == 0
    assert answer.status_code == 422
    assert answer.json()["fields"]


async def test_who_asks_for_a_stream_hears_the_words_however_late_they_are_fetched(tmp_path):
    async with served(tmp_path, say("Earlier."), say("One word after another.")) as (app, _):
        await app.turns.settled((await app.turns.start("s", "Before")).id)
        turn = await app.turns.start("s", "Go")
        frames = http.of_turn(app.turns, turn)
        await app.turns.settled(turn.id)
        heard = [frame async for frame in frames]
    words = [frame for frame in heard if frame.startswith("event: text_delta")]
    said = "".join(json.loads(frame.partition("data: ")[2])["text"] for frame in words)
    assert said == "One word after another."
    # All of this turn and nothing of the one before, each once.
    assert not [frame for frame in heard if turn.id not in frame]
    kinds = [frame.split()[3] for frame in heard if frame.startswith("id: ")]
    assert (kinds[0], kinds[-1]) == ("message", "done")
    assert len(kinds) == len(set(kinds))


async def test_a_listener_that_falls_behind_still_hears_the_whole_answer(tmp_path):
    text = " ".join(f"word{number}" for number in range(2000))
    async with served(tmp_path, say(text)) as (app, _):
        turn = await app.turns.start("s", "Go")
        frames = http.of_turn(app.turns, turn)
        await app.turns.settled(turn.id)
        heard = [frame async for frame in frames]
    [whole] = [frame for frame in heard if "event: done" in frame]
    assert json.loads(whole.partition("data: ")[2])["text"] == text
