"""Models over HTTP."""

import socket
import time
import tomllib

import pytest
from tests.integration.server.owners import believing, told

from long_running_agents.testing import Rule, Script, ScriptedServer, fail, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]


def answering(text):
    return ScriptedServer(Script((Rule("", (say(text),) * 5),)))


async def test_another_model_is_asked_by_all_who_have_not_chosen_and_after_a_restart(tmp_path):
    options = {"model": None}
    async with answering("It is me.") as server:
        config = tmp_path / "config.toml"
        config.write_text(
            f'# Mine.\n[agent.model]\nmodel_id = "other"\nbase_url = "{server.url}"\n',
            encoding="utf-8",
        )
        async with believing(tmp_path, **options) as (app, client):
            ask = client()
            listed = await ask.ok("GET", "/api/models")
            assert listed["current"] == "custom:other"
            assert [each["name"] for each in listed["models"] if each["current"]] == [
                "custom:other"
            ]
            await ask.ok("POST", "/api/sessions", json={"id": "own", "model": "custom:third"})
            choice = {"provider": "custom", "model_id": "scripted"}
            done = await ask.ok("POST", "/api/models/select", json=choice)
            assert (done["model"], done["session_id"]) == ("custom:scripted", None)
            assert (await ask.ok("GET", "/api/models"))["current"] == "custom:scripted"
            assert (await ask.ok("GET", "/api/status"))["model"] == "custom:scripted"
            assert (await told(app, "Who?")).answer == "It is me."
            await told(app, "Who?", session="own")
            assert [asked["model"] for asked in server.requests] == ["scripted", "third"]
        written = config.read_text(encoding="utf-8")
        assert written.startswith("# Mine.")
        assert tomllib.loads(written)["agent"]["model"]["model_id"] == "scripted"
        async with believing(tmp_path, **options) as (_, client):
            assert (await client().ok("GET", "/api/models"))["current"] == "custom:scripted"


async def test_a_session_of_ones_own_is_switched_without_an_admin(tmp_path):
    async with answering("Hello.") as server:
        home = {"agent__model__base_url": server.url, "agent__model__model_id": "usual"}
        async with believing(tmp_path, model=None, **home) as (app, client):
            ask = client(scopes="read chat")
            await ask.ok("POST", "/api/sessions", json={"id": "s1"})
            choice = {"provider": "custom", "model_id": "scripted", "session_id": "s1"}
            done = await ask.ok("POST", "/api/models/select", json=choice)
            assert (done["model"], done["session_id"]) == ("custom:scripted", "s1")
            assert (await ask.ok("GET", "/api/sessions/s1"))["model"] == "custom:scripted"
            assert app.models.usual == "custom:usual"
            other = await client("you").refused("POST", "/api/models/select", json=choice)
            assert other == (404, "not_found")


async def test_what_cannot_be_asked_is_not_chosen(tmp_path):
    async with answering("Hello.") as server:
        home = {"agent__model__base_url": server.url, "agent__model__model_id": "scripted"}
        async with believing(tmp_path, model=None, **home) as (app, client):
            ask = client()
            for choice, status in (
                ({"provider": "nobody", "model_id": "x"}, 400),
                ({"provider": "openai", "model_id": "gpt-5"}, 400),
                ({"provider": "local", "model_id": "nothing"}, 404),
                ({"provider": "local", "model_id": "/etc/passwd"}, 403),
                ({"provider": "", "model_id": "http://evil.example/v1#x"}, 403),
                ({"provider": "openai", "model_id": ""}, 422),
                ({"provider": "openai"}, 422),
            ):
                told = await ask.refused("POST", "/api/models/select", json=choice)
                assert told[0] == status, choice
            assert app.models.usual == "custom:scripted"
        assert not (tmp_path / "config.toml").exists()


async def test_a_flag_that_goes_before_the_file_is_named(tmp_path):
    async with answering("Hello.") as server:
        home = {"agent__model__base_url": server.url, "agent__model__model_id": "other"}
        async with believing(tmp_path, model=None, **home) as (_, client):
            choice = {"provider": "custom", "model_id": "scripted"}
            done = await client().ok("POST", "/api/models/select", json=choice)
    assert "flag" in done["note"]


async def test_listing_models_is_quick_although_nobody_answers(tmp_path):
    # Whoever connects there waits for ever.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        probe = {"agent__model__probe": [f"vllm:{silent.getsockname()[1]}"]}
        async with believing(tmp_path, **probe) as (_, client):
            began = time.monotonic()
            found = await client().ok("GET", "/api/models")
            first = time.monotonic() - began
            await client().ok("GET", "/api/models")
            second = time.monotonic() - began - first
    assert found["models"]
    assert first < 15
    # It is not looked again at once.
    assert second < first


async def test_a_model_that_answers_is_told_from_one_that_does_not(tmp_path):
    async with answering("Hi") as server:
        home = {"agent__model__base_url": server.url, "agent__model__model_id": "scripted"}
        async with believing(tmp_path, model=None, **home) as (_, client):
            ask = client(scopes="admin")
            tried = await ask.ok("POST", "/api/models/test", json={"model": "custom:scripted"})
            assert (tried["model"], tried["ok"], tried["error"]) == ("custom:scripted", True, "")
            assert 0 < tried["seconds"] < 30
            [asked] = server.requests
            assert asked["max_tokens"] == 1
    broken = ScriptedServer(Script((Rule("", (fail(401, message="wrong key"),) * 5),)))
    async with broken as server:
        home = {"agent__model__base_url": server.url, "agent__model__model_id": "scripted"}
        async with believing(tmp_path, model=None, **home) as (_, client):
            tried = await client().ok("POST", "/api/models/test", json={"model": "custom:other"})
    assert not tried["ok"]
    assert tried["error"].startswith("custom:other does not answer")
    assert tried["hint"]


async def test_only_an_admin_tries_models_and_none_at_an_address_of_their_own(tmp_path):
    async with answering("Hello.") as server:
        home = {"agent__model__base_url": server.url, "agent__model__model_id": "scripted"}
        async with believing(tmp_path, model=None, **home) as (_, client):
            for name, status in (
                ("http://127.0.0.1:9/v1#x", 403),
                ("local:/etc/passwd", 403),
                ("openai:gpt-5", 400),
                ("nobody:x", 400),
                ("", 422),
            ):
                told = await client().refused("POST", "/api/models/test", json={"model": name})
                assert told[0] == status, name
            mine = client(scopes="read chat approve")
            body = {"model": "custom:scripted"}
            assert (await mine.refused("POST", "/api/models/test", json=body))[0] == 403
        assert server.requests == []


def chosen(home):
    """What the config file says of the model."""
    return tomllib.loads((home / "config.toml").read_text(encoding="utf-8"))["agent"]["model"]


async def test_a_configured_server_is_never_lost_and_can_be_chosen_back(tmp_path):
    keys = {"OPENAI_API_KEY": "sk-made-up-and-long-enough"}
    async with answering("It is me.") as own, answering("The other.") as other:
        (tmp_path / "config.toml").write_text(
            f'[agent.model]\nmodel_id = "first"\nbase_url = "{own.url}"\n'
            f'servers = ["{other.url}"]\n',
            encoding="utf-8",
        )
        before = chosen(tmp_path)
        theirs = f"{other.url}#scripted"
        async with believing(tmp_path, model=None, environ=keys) as (app, client):
            ask = client()
            for name in ("openai:gpt-5-mini", theirs):
                done = await ask.ok("POST", "/api/models/select", json={"model_id": name})
                assert (done["model"], app.models.usual) == (name, name)
                assert chosen(tmp_path) == before | {"selected": name}
                listed = await ask.ok("GET", "/api/models")
                assert listed["current"] == name
                names = {each["name"] for each in listed["models"]}
                assert {"custom:first", "custom:scripted", "openai:gpt-5-mini", theirs} <= names
            assert (await told(app, "Who?")).answer == "The other."
        async with believing(tmp_path, model=None, environ=keys) as (app, client):
            assert app.models.usual == theirs
            back = {"provider": "custom", "model_id": "scripted"}
            await client().ok("POST", "/api/models/select", json=back)
            assert (await told(app, "And now?")).answer == "It is me."
        assert chosen(tmp_path) == before | {"model_id": "scripted"}


async def test_a_target_that_does_not_answer_changes_nothing(tmp_path):
    async with answering("Gone soon.") as other:
        gone = other.url
    async with answering("It is me.") as own:
        (tmp_path / "config.toml").write_text(
            f'[agent.model]\nmodel_id = "scripted"\nbase_url = "{own.url}"\nservers = ["{gone}"]\n',
            encoding="utf-8",
        )
        written = (tmp_path / "config.toml").read_bytes()
        async with believing(tmp_path, model=None) as (app, client):
            await client().ok("POST", "/api/sessions", json={"id": "s1", "title": "Mine"})
            for name, answer in (
                (f"{gone}#scripted", (422, "unreachable")),
                ("custom:nothing", (404, "not_found")),
            ):
                for one in ({}, {"session_id": "s1"}):
                    choice = {"model_id": name, **one}
                    told = await client().refused("POST", "/api/models/select", json=choice)
                    assert told == answer
                change = {"title": "Other", "model": name}
                assert await client().refused("PATCH", "/api/sessions/s1", json=change) == answer
            assert app.models.usual == "custom:scripted"
            session = await client().ok("GET", "/api/sessions/s1")
            assert (session["title"], session["model"]) == ("Mine", None)
        assert (tmp_path / "config.toml").read_bytes() == written
