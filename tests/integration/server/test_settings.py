"""Settings, tools and the log level over HTTP."""

import logging

import pytest
from tests.integration.server.owners import believing

from long_running_agents.config import load
from long_running_agents.config.loader import every_key
from long_running_agents.server.routes.settings import CHANGEABLE

pytestmark = pytest.mark.anyio

DANGEROUS = {
    "sandbox.unsafe_local": True,
    "sandbox.url": "http://evil.example",
    "sandbox.docker_runtime": "/tmp/evil",
    "web.browser": "/tmp/evil",
    "web.search_url": "http://evil.example",
    "agent.workspace": "/",
    "agent.model.base_url": "http://evil.example/v1",
    "agent.model.model_id": "openai:x",
    "agent.tools.require_approval": [],
    "agent.tools.rules": [],
    "agent.tools.taint": False,
    "agent.tools.allow": None,
    "agent.tools.non_interactive_approval_policy": "allow",
    "agent.tools.enable.shell": True,
    "gateway.host": "0.0.0.0",
    "storage.database_url": "sqlite:////tmp/evil",
    "storage.vector_store_path": "/tmp/evil",
    "memory.embedding_base_url": "http://evil.example",
    "owner": "you",
}


async def test_every_setting_is_shown_with_its_origin_and_without_secrets(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        '[web]\nsearch_url = "http://me:pa55word@search.example"\n', encoding="utf-8"
    )
    async with believing(home) as (_, client):
        found = (await client().ok("GET", "/api/settings"))["settings"]
    assert [each["key"] for each in found] == every_key()
    assert all(each["description"] for each in found)
    known = {each["key"]: each for each in found}
    assert known["web.search_url"]["value"] == "http://me:[redacted]@search.example"
    assert known["web.search_url"]["origin"].endswith("config.toml")
    assert known["web.timeout"]["origin"] == "default"


async def test_harmless_settings_are_written_and_wait_for_a_restart(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        values = {"agent.max_loop_iterations": 7, "memory.recall": False, "memory.top_k": 3}
        done = await ask.ok("PATCH", "/api/settings", json={"values": values})
        assert done["changed"] == done["restart"] == sorted(values)
        found = (await ask.ok("GET", "/api/settings"))["settings"]
        pending = {each["key"]: each["pending"] for each in found if each["pending"] is not None}
        assert pending == values
        for wrong in ({"memory.top_k": 0}, {"memory.top_k": "x"}, {"memory.top_k": [1]}):
            told = await ask.refused("PATCH", "/api/settings", json={"values": wrong})
            assert told == (400, "bad_request")
        unknown = await ask.refused("PATCH", "/api/settings", json={"values": {"spell": 1}})
        assert unknown == (404, "not_found")
    settings = load(home=tmp_path, environ={}).settings
    assert settings.agent.max_loop_iterations == 7
    assert (settings.memory.recall, settings.memory.top_k) == (False, 3)


async def test_nothing_that_could_have_something_run_is_changed_from_outside(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        for key, value in DANGEROUS.items():
            told = await ask.refused("PATCH", "/api/settings", json={"values": {key: value}})
            assert told == (403, "denied"), key
            both = {"memory.top_k": 3, key: value}
            assert (await ask.refused("PATCH", "/api/settings", json={"values": both}))[0] == 403
        assert not (tmp_path / "config.toml").exists()
    for prefix in ("sandbox.", "web.", "storage.", "gateway.", "agent.tools."):
        assert not any(key.startswith(prefix) for key in CHANGEABLE)


async def test_only_an_admin_changes_settings_and_the_log_level(tmp_path):
    async with believing(tmp_path) as (_, client):
        for scopes in ("read", "read chat", "read chat approve"):
            ask = client(scopes=scopes)
            change = {"values": {"memory.top_k": 3}}
            assert await ask.refused("PATCH", "/api/settings", json=change) == (403, "denied")
            level = {"level": "DEBUG"}
            assert await ask.refused("PUT", "/api/log-level", json=level) == (403, "denied")
            choice = {"model_id": "openai:x"}
            told = await ask.refused("POST", "/api/models/select", json=choice)
            assert told == (403, "denied")


async def test_the_log_says_more_from_now_on(tmp_path):
    async with believing(tmp_path) as (app, client):
        ask = client()
        assert await ask.ok("GET", "/api/log-level") == {"level": "WARNING"}
        logging.getLogger("long_running_agents.x").debug("not yet")
        await ask.ok("PUT", "/api/log-level", json={"level": "DEBUG"})
        logging.getLogger("long_running_agents.x").debug("loud")
        assert await ask.ok("GET", "/api/log-level") == {"level": "DEBUG"}
        assert (await ask.refused("PUT", "/api/log-level", json={"level": "SPELL"}))[0] == 422
        said = (app.home.logs / "lra.log").read_text(encoding="utf-8")
    assert "loud" in said
    assert "not yet" not in said


async def test_tools_are_described_and_none_can_be_called(tmp_path):
    asking = {"agent__tools__require_approval": ["create_task"]}
    off = {"agent__tools__enable__shell": False}
    async with believing(tmp_path, **asking, **off) as (_, client):
        ask = client()
        found = {tool["name"]: tool for tool in (await ask.ok("GET", "/api/tools"))["tools"]}
        assert found["create_task"]["approval"] == "always"
        assert found["list_tasks"]["approval"] == "never"
        assert found["web_fetch"]["approval"] == "sometimes"
        assert found["web_fetch"]["foreign"]
        assert (found["shell"]["enabled"], found["read_file"]["enabled"]) == (False, True)
        assert found["create_task"]["parameters"]["properties"]["title"]
        for name in found:
            for path in (f"/api/tools/{name}", f"/api/tools/{name}/invoke", "/api/tools"):
                told = await ask.refused("POST", path, json={"command": "ls"})
                assert told[0] in (404, 405)


async def test_a_server_that_is_being_stopped_is_not_ready(tmp_path):
    async with believing(tmp_path) as (app, client):
        ask = client()
        assert await ask.ok("GET", "/ready") == {"status": "ok"}
        app.driver.close()
        assert await ask.refused("GET", "/ready") == (503, "unavailable")
        assert await ask.ok("GET", "/health") == {"status": "ok"}
