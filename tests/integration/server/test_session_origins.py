"""Sessions of other programs: marked, filtered, and not named or remembered by their set-up."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from tests.contract.mcp.offered import GENERATIONS, offered
from tests.integration.server.serving import served
from tests.integration.stories import ended, told
from tests.integration.test_client_tools import LOOK, looks, terms

from long_running_agents.cli import slash
from long_running_agents.domain.events import ToolReturned, TurnStopped
from long_running_agents.domain.memory import Query, Viewer
from long_running_agents.domain.session import MINE, SessionOrigin, title_from
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.testing import FrozenClock, ScriptedModel, calls, make_app, say

pytestmark = pytest.mark.anyio

SCAFFOLD = "<environment_context>\n  <cwd>/home/me/mill</cwd>\n</environment_context>"


def user(text):
    return {"role": "user", "content": text}


async def chat(client, *messages, **more):
    body = {"model": "lra", "messages": list(messages), **more}
    answer = await client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text


async def listed(client, **query):
    answer = await client.get("/api/sessions", params=query)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["total"] == len(body["sessions"])
    return {each["title"]: each["origin"] for each in body["sessions"]}


class Noted:
    """What a chat says of itself."""

    def __init__(self):
        self.lines = []

    async def note(self, text):
        self.lines += text.splitlines()


async def test_a_chat_lists_the_sessions_of_its_user(tmp_path):
    async with served(tmp_path, say("1"), say("2")) as (app, client):
        await client.post("/api/chat/mine", json={"message": "Hello"})
        await chat(client, user("From an editor"))
        screen = Noted()
        talk = SimpleNamespace(agent=app, session_id="mine", screen=screen)
        for typed in ("/sessions", "/sessions Hello", "/sessions editor"):
            command = slash.parse(typed)
            await command.act(talk, command.rest)
    assert [line.split()[-1] for line in screen.lines] == ["Hello", "Hello", "yet"]


async def test_sessions_are_marked_and_filtered_by_where_they_came_from(tmp_path):
    async with served(tmp_path, say("1"), say("2")) as (app, client):
        await client.post("/api/chat/mine", json={"message": "Hello"})
        await chat(client, user("From an editor"))
        everything = {"Hello": "own", "From an editor": "openai"}
        assert await listed(client) == await listed(client, origin="all") == everything
        assert await listed(client, origin="own") == {"Hello": "own"}
        assert await listed(client, origin="openai", q="editor") == {"From an editor": "openai"}
        assert await listed(client, origin="mcp") == {}
        assert (await client.get("/api/sessions", params={"origin": "x"})).status_code == 422
        newest = await app.sessions.newest()
        assert (newest.id, newest.origin) == ("mine", SessionOrigin.OWN)
        fork = await client.post(f"/api/sessions/{newest.id}/fork", json={})
        assert fork.json()["origin"] == "own"


@pytest.mark.parametrize("mode", GENERATIONS)
async def test_what_comes_over_mcp_is_marked_and_not_remembered(tmp_path, mode):
    async with offered(tmp_path, say("Noted.")) as place, place.client(mode) as client:
        await client.call_tool("ask", {"message": "My heron is called Rex."})
        [preview] = await place.app.sessions.previews()
        assert preview.session.origin is SessionOrigin.MCP
        await place.app.remembered()
        assert not (await found(place.app, "heron")).hits


async def found(app, text):
    return await app.memories.find(Viewer(owner=MINE), Query(text=text))


async def test_a_conversation_is_remembered_and_the_work_of_a_program_is_not(tmp_path):
    async with served(tmp_path, say("Nice."), say("Done."), say("Done.")) as (app, client):
        await chat(client, user("My dog is called Rex."))
        system = {"role": "system", "content": "You are an editor."}
        await chat(client, system, user("My heron is called Ada."))
        tool = {"type": "function", "function": {"name": "look"}}
        await chat(client, user("My pike is called Moby."), tools=[tool])
        await app.remembered()
        assert (await found(app, "dog")).hits
        assert not any("Ada" in hit.memory.content for hit in (await found(app, "heron Ada")).hits)
        assert not any("Moby" in hit.memory.content for hit in (await found(app, "pike Moby")).hits)


async def test_the_set_up_of_a_program_is_no_title(tmp_path):
    async with served(tmp_path, say("1"), say("2")) as (_, client):
        await chat(client, user(SCAFFOLD), user("<task>\nMend the mill\n</task>"))
        files = user("I have *added these files to the chat*: mill.py")
        await chat(client, files, {"role": "assistant", "content": "Ok."}, user("Oil the wheel"))
        assert await listed(client) == {"Mend the mill": "openai", "Oil the wheel": "openai"}


def test_a_title_of_nothing_but_marks_is_its_first_line():
    assert title_from("<b>Hello</b>\n<i>you</i>") == "<b>Hello</b>"
    assert title_from(" \n ") == "New session"


async def test_a_turn_does_not_wait_for_a_client_for_ever(tmp_path):
    clock, model = FrozenClock(), ScriptedModel([calls(looks()), say("It snows.")])
    options = {"model": model, "clock": clock, "agent__tools__approval_expiry": 60}
    async with make_app(tmp_path, **options) as app:
        turn = await ended(app, "How is it outside?", terms=terms(LOOK))
        await clock.advance(59 * 60)
        assert (await app.turns.get(turn.id)).status is TurnStatus.WAITING
        await clock.advance(60)
        await app.turns.expire()
        turn = await app.turns.get(turn.id)
        assert turn.status is TurnStatus.STOPPED
        assert turn.error == ("the program that was to run a tool did not come back within 1 hours")
        [stopped] = await told(app, TurnStopped)
        assert stopped.text == f"I stopped here: {turn.error}."
        [returned] = await told(app, ToolReturned)
        assert not returned.success
        assert (await ended(app, "And now?")).answer == "It snows."


async def test_a_client_that_vanished_while_the_home_was_closed_is_not_waited_for(tmp_path):
    clock = FrozenClock()
    async with make_app(tmp_path, model=ScriptedModel([calls(looks())]), clock=clock) as app:
        turn = await ended(app, "Look", terms=terms(LOOK))
    await clock.advance(timedelta(days=1).total_seconds())
    async with make_app(tmp_path, model=ScriptedModel([]), clock=clock) as app:
        assert (await app.turns.get(turn.id)).status is TurnStatus.STOPPED
