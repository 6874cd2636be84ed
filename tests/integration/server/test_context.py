"""What the agent sees, over HTTP: the next request as it would be made."""

import httpx2
import pytest
from tests.integration.server.owners import believing, told
from tests.integration.server.skills import SHOUT, made

from long_running_agents.domain.memory import MemoryDraft, Viewer
from long_running_agents.testing import ScriptedModel, call, say
from long_running_agents.tools import selection
from long_running_agents.tools.catalog import WORK, built_in

pytestmark = pytest.mark.anyio

ME = Viewer(owner="me")


def page(session="s1", **asked):
    return f"/api/sessions/{session}/context?{httpx2.QueryParams(asked)}"


def sent(request):
    """The text of everything that a model was sent."""
    parts = [part for message in request for part in message.parts]
    return "\n".join(str(getattr(part, "content", "")) for part in parts)


async def test_a_session_that_is_not_there_yet_has_instructions_and_tools_only(tmp_path):
    async with believing(tmp_path) as (app, client):
        seen = await client(scopes="read").ok("GET", page("new"))
        assert (seen["session_id"], seen["history"], seen["memories"]) == ("new", [], [])
        assert (seen["model"], seen["window"]) == (app.models.usual, None)
        assert [part["source"] for part in seen["instructions"]] == ["base"]
        assert {each["state"] for each in seen["tools"] if each["name"] != "search_tools"} >= {
            "offered"
        }
        assert seen["total"] == sum(seen["shares"].values())
        assert (await client().ok("GET", "/api/sessions"))["sessions"] == []


async def test_the_instructions_come_by_part(tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("You like herons.", encoding="utf-8")
    (workspace / "USER.md").write_text("Anna, a painter.", encoding="utf-8")
    async with believing(tmp_path) as (_, client):
        seen = await client().ok("GET", page())
    base, soul, user = seen["instructions"]
    assert [base["source"], soul["source"], user["source"]] == ["base", "SOUL.md", "USER.md"]
    assert "You like herons." in soul["text"]
    assert "Anna, a painter." in user["text"]
    assert 0 < soul["tokens"] < base["tokens"]


async def test_what_is_foreseen_is_what_the_next_turn_is_sent_and_nothing_is_written(tmp_path):
    model = ScriptedModel([say("Nice name."), say("Hello."), say("Rex.")])
    async with believing(tmp_path, model=model) as (app, client):
        await told(app, "My dog is called Rex.", session="before")
        await told(app, "Good morning!")
        await app.remembered()
        ask = client()
        question = "What is my dog called?"
        events = await app.sessions.last_event("s1")
        seen = await ask.ok("GET", page(prompt=question))
        again = await ask.ok("GET", page(prompt=question))
        assert seen == again
        assert await app.sessions.last_event("s1") == events
        assert len(model.requests) == 2

        [memory, *_] = seen["memories"]
        assert memory["text"] == "My dog is called Rex."
        assert (memory["trust"], memory["session_id"]) == ("user", "before")
        assert [(each["role"], each["text"]) for each in seen["history"]] == [
            ("user", "Good morning!"),
            ("assistant", "Hello."),
        ]
        assert {each["shown"] for each in seen["history"]} == {"whole"}
        assert seen["prompt"] == question
        shares = seen["shares"]
        assert shares.pop("block") == 0
        assert min(shares.values()) > 0

        await told(app, question)
        assert "My dog is called Rex." in sent(model.requests[-1])
        offered = [each["name"] for each in seen["tools"] if each["state"] == "offered"]
        assert offered == list(model.tools_offered[-1])


async def test_without_words_it_is_what_comes_to_mind_for_the_last_ones(tmp_path):
    async with believing(tmp_path, say("Nice name."), say("Rex.")) as (app, client):
        await told(app, "My dog is called Rex.", session="before")
        await told(app, "What is my dog called?")
        seen = await client().ok("GET", page())
    assert "My dog is called Rex." in [each["text"] for each in seen["memories"]]
    assert seen["prompt"] == ""


async def test_a_turn_that_waits_is_shown_its_own_next_step(tmp_path):
    asking = {"agent__tools__require_approval": ["create_task"]}
    replies = [call("create_task", title="Feed the heron")]
    async with believing(tmp_path, *replies, **asking) as (app, client):
        await told(app, "Plan my day")
        seen = await client().ok("GET", page())
    assert [(each["role"], each["text"].strip()) for each in seen["history"]] == [
        ("user", "Plan my day"),
        ("assistant", "create_task(…)"),
    ]
    assert seen["shares"]["prompt"] == 0


async def test_a_turn_that_failed_is_closed_in_the_view_and_not_in_the_log(tmp_path):
    async with believing(tmp_path) as (app, client):
        turn = await told(app, "Anybody there?")
        assert turn.status == "failed"
        before = await app.sessions.log("s1")
        seen = await client().ok("GET", page(prompt="And now?"))
        assert len(await app.sessions.log("s1")) == len(before)
    assert [each["role"] for each in seen["history"]] == ["user", "assistant"]
    assert "without an answer" in seen["history"][1]["text"]
    assert seen["earlier"] == 0


async def test_the_bounds_of_history_leave_out_the_oldest_turns(tmp_path):
    replies = [say("word " * 300) for _ in range(7)]
    bounds = {"sessions__max_history_tokens": 1500, "sessions__max_history_messages": 10}
    async with believing(tmp_path, *replies, **bounds) as (app, client):
        for number in range(7):
            await told(app, f"Question {number}")
        seen = await client().ok("GET", page(prompt="Next"))
    assert (seen["earlier"], len(seen["history"])) == (6, 8)
    left = [each for each in seen["history"] if each["shown"] == "left_out"]
    kept = [each for each in seen["history"] if each["shown"] == "whole"]
    assert left
    assert {each["reason"] for each in left} == {"window"}
    assert kept[0]["text"] in {"Question 5", "Question 6"}
    assert seen["shares"]["history"] == sum(each["tokens"] for each in kept)


async def test_a_small_window_leaves_out_turns_and_tools(tmp_path):
    replies = [say("word " * 500) for _ in range(4)]
    small = {"agent__model__context_window": 4096, "agent__model__max_tokens": 512}
    async with believing(tmp_path, *replies, **small) as (app, client):
        for number in range(4):
            await told(app, f"Question {number}")
        seen = await client().ok("GET", page(prompt="Create a task"))
    assert seen["window"] == 4096
    assert seen["total"] < 4096
    assert "window" in {each["reason"] for each in seen["history"]}
    states = {each["name"]: each["state"] for each in seen["tools"]}
    assert states["create_task"] != "left_out"
    assert "left_out" in states.values()
    assert seen["problem"] == ""


async def test_a_message_that_would_be_refused_is_shown_with_the_reason(tmp_path):
    async with believing(tmp_path, agent__model__context_window=3072) as (_, client):
        seen = await client().ok("GET", page(prompt="\N{GRINNING FACE}" * 2000))
    assert "newest message" in seen["problem"]
    assert seen["total"] > 3072


async def test_tools_are_told_in_short_before_many_are_left_out(tmp_path):
    known = selection.once(tool.tool_def for tool in built_in(without=[WORK]).tools.values())
    rare = {*selection.CORE, "list_jobs", "propose_job"}
    size = selection.takes(tool for tool in known if tool.name not in rare)
    # A quarter of the window is for tools: a little less than all of them take.
    async with believing(tmp_path, agent__model__context_window=4 * size - 4) as (_, client):
        seen = await client().ok("GET", page(prompt="Create a task"))
        whole = await client().ok("GET", "/api/tools")
    states = [each["state"] for each in seen["tools"]]
    assert states.count("short") > 1
    usual = [
        each for each in whole["tools"] if each["enabled"] and each["family"] not in (WORK, "jobs")
    ]
    assert len(states) >= len(usual) - 2


async def test_skills_are_among_the_tools_and_so_are_those_that_are_not_chosen(tmp_path):
    few = {"agent__skills__offered": 1}
    async with believing(tmp_path, **few) as (_, client):
        ask = client()
        await made(ask, SHOUT)
        await made(ask, SHOUT.replace("shout", "whisper").replace("upper", "lower"))
        seen = await ask.ok("GET", page(prompt="Please whisper"))
    skills = {each["name"]: each["state"] for each in seen["tools"] if each["kind"] == "skill"}
    assert skills["whisper"] == "offered"
    assert skills["shout"] == "left_out"


async def test_another_owners_session_is_not_there(tmp_path):
    async with believing(tmp_path, say("Hello.")) as (app, client):
        await told(app, "Hi")
        await app.memories.write(ME, MemoryDraft(content="My dog is called Rex."))
        theirs = await client("you").ok("GET", page())
        new = await client("you").ok("GET", page("new"))
        seen = await client("you").ok("GET", page("new", prompt="What is my dog called?"))
    assert {**theirs, "session_id": "new"} == new
    assert seen["memories"] == []


async def test_a_session_is_compacted_at_will_by_its_owner_alone(tmp_path):
    replies = [say("One."), say("Two."), say("Three."), say("They counted.\n<end>")]
    async with believing(tmp_path, *replies, summaries=True) as (app, client):
        for question in ("Count", "Go on", "And on"):
            await told(app, question)
        compact = "/api/sessions/s1/compact"
        assert (await client("you").refused("POST", compact))[0] == 404
        fold = await client().ok("POST", compact)
        assert (fold["first"], fold["last"], fold["text"]) == (1, 2, "They counted.")
        seen = await client().ok("GET", page())
        assert "turns 1 to 2: They counted." in seen["block"]
        assert seen["shares"]["block"] > 0
        assert len(seen["history"]) == 2
        assert (await client().refused("POST", compact))[0] == 404
