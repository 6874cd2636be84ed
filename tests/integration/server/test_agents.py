"""Agents as a program asks for them: versions, who may publish, routing, cards, and as models."""

import pytest
from tests.integration.server.owners import believing
from tests.integration.server.serving import served

from long_running_agents.client import Client
from long_running_agents.domain.agent import AgentStage
from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.testing import say

pytestmark = pytest.mark.anyio

POET = {
    "name": "poet",
    "description": "Writes poems and rhymes.",
    "instructions": "You write SONNETS about herons, with metre and rhyme.",
    "capabilities": ["verse"],
    "examples": ["A poem for my grandmother's birthday"],
}


async def published(ask, **other):
    agent = {**POET, **other}
    await ask.ok("POST", "/api/agents", json={"agent": agent})
    return await ask.ok("POST", f"/api/agents/{agent['name']}/publish")


async def test_a_draft_becomes_a_version_and_a_person_publishes_it(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        draft = await ask.ok("POST", "/api/agents", json={"agent": POET})
        assert (draft["version"], draft["stage"], draft["origin"]) == (1, "draft", "person")
        writer = client(scopes="read chat")
        denied = await writer.refused("POST", "/api/agents/poet/publish")
        assert denied == (403, "denied")
        used = await ask.ok("POST", "/api/agents/poet/publish", json={"version": 1})
        assert used["stage"] == "published"
        again = {**POET, "description": "Writes haiku."}
        await ask.ok("POST", "/api/agents", json={"agent": again})
        told = await ask.ok("GET", "/api/agents/poet/versions")
        assert [each["version"] for each in told["versions"]] == [2, 1]
        assert (await ask.ok("GET", "/api/agents/poet"))["version"] == 1
        assert (await ask.ok("GET", "/api/agents/poet?version=2"))["description"] == "Writes haiku."
        assert (await ask.ok("GET", "/api/agents/poet@2"))["digest"] != used["digest"]
        names = [each["name"] for each in (await ask.ok("GET", "/api/agents"))["agents"]]
        assert names == ["coder", "poet", "researcher", "reviewer"]
        assert (await ask.ok("POST", "/api/agents/poet/retire"))["stage"] == "retired"
        assert (await ask.ok("GET", "/api/agents/poet/stats")) == {"stats": []}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/agents/nobody", None, 404),
        ("GET", "/api/agents/nobody/versions", None, 404),
        ("GET", "/api/agents/nobody/stats", None, 404),
        ("GET", "/api/agents/coder?version=99", None, 404),
        ("GET", "/api/agents/coder?version=0", None, 422),
        ("GET", "/api/agents/coder@2?version=3", None, 400),
        ("GET", "/api/agents/co%20der", None, 422),
        ("POST", "/api/agents/nobody/publish", None, 404),
        ("POST", "/api/agents/coder/publish", {"version": 99}, 404),
        ("POST", "/api/agents/coder/publish", {"version": 10**12}, 422),
        ("POST", "/api/agents/nobody/retire", None, 404),
        ("POST", "/api/agents/nobody/examples", {"text": "Hello"}, 404),
        ("POST", "/api/agents/coder/examples", {"text": " "}, 400),
        ("POST", "/api/agents/coder/examples", {"text": ""}, 422),
        ("POST", "/api/agents", {"agent": {"name": "a b"}}, 400),
        ("POST", "/api/agents", {"agent": {"name": "a", "colour": "red"}}, 400),
        ("POST", "/api/agents", {"agent": {"name": "a", "tools": {"allow": 3}}}, 400),
        ("POST", "/api/agents", {"agent": {"name": "a", "chain": {"links": []}}}, 400),
        ("POST", "/api/agents", {"agent": {}}, 400),
        ("POST", "/api/agents", {"agent": []}, 422),
        ("POST", "/api/agents", {}, 422),
        ("POST", "/api/agents/route", {"text": ""}, 422),
        ("POST", "/api/agents/route", {"text": "x", "needs": "web"}, 422),
        ("GET", "/agents/nobody/agent-card.json", None, 404),
        ("POST", "/api/sessions", {"agent": "nobody"}, 404),
    ],
)
async def test_what_cannot_be_done_is_refused_with_a_reason(tmp_path, method, path, body, status):
    async with believing(tmp_path) as (_, client):
        told, _ = await client().refused(method, path, **({} if body is None else {"json": body}))
    assert told == status


async def test_words_route_a_model_is_asked_when_they_do_not_and_a_person_teaches(tmp_path):
    async with believing(tmp_path, say("2"), say("0"), say("I do not know")) as (_, client):
        ask = client()
        await published(ask)
        await published(ask, name="lyricist")
        clear = {"text": "Fix the failing test in this project"}
        told = await ask.ok("POST", "/api/agents/route", json=clear)
        assert (told["to"], told["by"]) == ("coder@1", "words")
        assert told["candidates"][0]["words"]
        open_ = {"text": "a sonnet with rhymes", "needs": ["verse"]}
        told = await ask.ok("POST", "/api/agents/route", json=open_)
        assert (told["by"], told["to"]) == ("model", told["candidates"][1]["agent"])
        told = await ask.ok("POST", "/api/agents/route", json=open_)
        assert (told["by"], told["to"]) == ("model", "")
        told = await ask.ok("POST", "/api/agents/route", json=open_)
        assert (told["by"], told["to"], told["unsure"]) == ("default", "", True)
        await ask.ok("POST", "/api/agents/poet/examples", json={"text": "a sonnet with rhymes"})
        told = await ask.ok("POST", "/api/agents/route", json=open_)
        assert told["candidates"][0]["agent"] == "poet@1"
        assert told["candidates"][0]["near_example"] == "a sonnet with rhymes"
        told = await ask.ok("POST", "/api/agents/route", json={"text": "x", "needs": ["cars"]})
        assert (told["by"], told["candidates"], told["unsure"]) == ("default", [], False)


async def test_cards_say_what_agents_do_and_not_what_they_are_told(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await published(ask)
        card = await ask.ok("GET", "/agents/poet/agent-card.json")
        assert card["supportedInterfaces"] == [
            {
                "url": f"{ask.address}/v1",
                "protocolBinding": "OpenAI",
                "protocolVersion": "v1",
                "tenant": "agent:poet",
            }
        ]
        assert card["skills"][0]["tags"] == ["verse"]
        assert card["defaultInputModes"] == ["text/plain"]
        assert "SONNETS" not in str(card)
        own = await ask.ok("GET", "/.well-known/agent-card.json")
        assert "poet" in [each["id"] for each in own["skills"]]
        assert "SONNETS" not in str(own)
        await ask.ok("POST", "/api/agents/poet/retire")
        assert (await ask.refused("GET", "/agents/poet/agent-card.json"))[0] == 404


async def test_a_published_agent_is_a_model_and_its_name_reaches_the_turn(tmp_path):
    async with believing(tmp_path, *[say("A poem.")] * 4) as (app, client):
        ask = client()
        await published(ask)
        names = [each["id"] for each in (await ask.ok("GET", "/v1/models"))["data"]]
        assert "agent:poet" in names
        assert (await ask.ok("GET", "/v1/models/agent:poet"))["id"] == "agent:poet"
        strangers = [each["id"] for each in (await client("you").ok("GET", "/v1/models"))["data"]]
        assert "agent:poet" not in strangers
        asked = {"model": "agent:poet", "messages": [{"role": "user", "content": "Hello"}]}
        told = await ask.ok("POST", "/v1/chat/completions", json=asked)
        assert told["choices"][0]["message"]["content"] == "A poem."
        told = await ask.ok("POST", "/v1/responses", json={"model": "agent:poet", "input": "Hi"})
        assert told["status"] == "completed"
        for body in (asked, {**asked, "model": "agent:nobody"}):
            other = await client("you" if body is asked else "me")(
                "POST", "/v1/chat/completions", json=body
            )
            assert other.status_code == 404
        await ask.ok("POST", "/api/sessions", json={"id": "verse", "agent": "poet"})
        assert (await app.sessions.get(SessionId("verse"))).agent == "poet"
        assert (await ask.ok("GET", "/api/sessions/verse"))["agent"] == "poet"


async def test_the_client_is_the_whole_protocol(tmp_path):
    async with served(tmp_path) as (app, http), Client.at(str(http.base_url)) as client:
        agents = client.agents
        saved = await agents.save(POET)
        assert saved == (await app.agents.history("poet"))[0]
        assert (await agents.publish("poet")).stage is AgentStage.PUBLISHED
        assert list(await agents.every()) == list(await app.agents.every())
        assert await agents.get("poet", 1) == await app.agents.get("poet", 1)
        assert list(await agents.history("poet")) == list(await app.agents.history("poet"))
        assert (await agents.learn("poet", "Rhyme me something")).name == "poet"
        text, needs = "Rhyme me something", ["verse"]
        assert await agents.route(text, needs=needs) == await app.agents.route(text, needs=needs)
        assert await agents.stats("poet") == []
        assert (await agents.retire("poet")).stage is AgentStage.RETIRED
        with pytest.raises(UsageError):
            await agents.save({"name": "no name"})
        with pytest.raises(NotFound):
            await agents.get("nobody")
