"""From a home without any model to one that answers, over HTTP and without a restart."""

import asyncio
import hashlib
import stat
import tomllib
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.contract.raw_server import raw_server
from tests.integration.server.owners import believing, told

from long_running_agents.models.local import catalog
from long_running_agents.testing import Rule, Script, ScriptedServer, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

KEY = "sk-or-this-is-a-made-up-key-0123456789"
NOWHERE = "http://127.0.0.1:9"
ALONE = {"model": None, "agent__model__probe": []}
"""A home that finds no model server on this machine."""


def answering(text="Here I am.", **options):
    return ScriptedServer(Script((Rule("", (say(text),) * 9),)), **options)


async def ways(ask):
    """Every way to a model."""
    return await ask.ok("GET", "/api/models/providers")


def written(home):
    """What the config file says of models."""
    return tomllib.loads((home / "config.toml").read_text(encoding="utf-8"))["agent"]["model"]


async def test_a_home_without_any_model_says_how_to_get_one(tmp_path):
    async with believing(tmp_path, **ALONE) as (_, client):
        ask = client()
        assert (await ask.ok("GET", "/api/models"))["current"] == ""
        found = await ways(ask)
        assert (await ask.ok("GET", "/api/models/pull"))["state"] == "idle"
        assert (await ask.ok("DELETE", "/api/models/pull"))["state"] == "idle"

    assert [(each["provider"], each["label"]) for each in found["providers"]] == [
        ("openai", "OpenAI"),
        ("anthropic", "Anthropic"),
        ("google", "Google"),
        ("openrouter", "OpenRouter"),
    ]
    assert not any(each["has_key"] for each in found["providers"])
    assert found["providers"][0]["suggested_model"] == "openai:gpt-5-mini"
    assert found["servers"] == []
    assert found["embedded"]["name"] == "local:qwen2.5-coder-0.5b"
    assert found["embedded"]["size_bytes"] == 491_400_064
    assert not found["embedded"]["installed"]
    assert found["embedded"]["available"] is not bool(found["embedded"]["note"])


async def test_a_key_is_kept_private_and_works_at_once(tmp_path):
    env = tmp_path / ".env"
    env.write_text("# Mine.\nOTHER='x y'\nexport OPENAI_API_KEY=old-and-wrong\n", encoding="utf-8")
    env.chmod(0o644)
    async with answering(require_key=KEY) as server:
        home = {"agent__model__provider": "openai", "agent__model__base_url": server.url}
        async with believing(tmp_path, **ALONE, **home, log_level="DEBUG") as (app, client):
            ask = client()
            given = await ask("PUT", "/api/models/keys/openai", json={"key": f" {KEY}\n"})
            assert given.json() == {"provider": "openai", "has_key": True}
            assert (await ways(ask))["providers"][0]["has_key"]
            choice = {"provider": "openai", "model_id": "scripted"}
            await ask.ok("POST", "/api/models/select", json=choice)
            turn = await told(app, f"My key is {KEY}, is it not?")
            assert turn.answer == "Here I am."
            shown = await ask("GET", "/api/sessions/s1/history")
            assert KEY not in shown.text
            assert "[redacted]" in shown.text
            assert stat.S_IMODE(env.stat().st_mode) == 0o600
            assert env.read_text(encoding="utf-8") == (
                f"# Mine.\nOTHER='x y'\nOPENAI_API_KEY='{KEY}'\n"
            )
            gone = await ask.ok("DELETE", "/api/models/keys/openai")
            assert gone == {"provider": "openai", "has_key": False}
            assert not (await ways(ask))["providers"][0]["has_key"]
        assert env.read_text(encoding="utf-8") == "# Mine.\nOTHER='x y'\n"
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


async def test_a_key_that_cannot_be_kept_is_refused(tmp_path):
    environ = {"OPENAI_API_KEY": "sk-of-the-environment-0123456789"}
    async with believing(tmp_path, **ALONE, environ=environ) as (_, client):
        ask = client()
        for provider, key, status in (
            ("openai", KEY, 400),
            ("nobody", KEY, 404),
            ("ollama", KEY, 404),
            ("google", "two words", 422),
            ("google", "a'b", 422),
            ("google", "one\ntwo=3", 422),
            ("google", "", 422),
        ):
            path = f"/api/models/keys/{provider}"
            answer = await ask("PUT", path, json={"key": key})
            assert answer.status_code == status, key
            assert not key or key not in answer.text
        assert (await ask.refused("DELETE", "/api/models/keys/openai"))[0] == 400
    assert not (tmp_path / ".env").exists()


async def test_an_address_is_tried_with_and_without_v1(tmp_path):
    page = raw_server(lambda: [b"<html>"], kind="text/html")
    async with (
        answering(require_key=KEY) as server,
        page as (other, _),
        believing(tmp_path, **ALONE) as (_, client),
    ):

        async def tried(address, key=None):
            body = {"base_url": address} | ({"api_key": key} if key else {})
            return await client().ok("POST", "/api/models/servers/test", json=body)

        bare = server.url.removesuffix("/v1")
        for address in (server.url, bare, f"{bare}/", bare.removeprefix("http://")):
            found = await tried(address, KEY)
            assert (found["ok"], found["base_url"]) == (True, server.url)
            assert found["models"] == ["scripted"]
        wrong, nobody, something = await tried(bare), await tried(NOWHERE), await tried(other)
    assert not any(each["ok"] for each in (wrong, nobody, something))
    assert all(each["hint"] for each in (wrong, nobody, something))
    assert "wants another key (HTTP 401)" in wrong["message"]
    assert "Nobody answers at http://127.0.0.1:9/v1" in nobody["message"]
    assert "lists no models (HTTP 404" in something["message"]
    assert not (tmp_path / "config.toml").exists()


async def test_servers_are_remembered_beside_each_other_and_used_at_once(tmp_path):
    async with answering("The first.") as first, answering("The second.", require_key=KEY) as other:
        async with believing(tmp_path, **ALONE) as (app, client):
            ask = client()
            body = {"base_url": first.url, "model": "scripted"}
            listed = await ask.ok("POST", "/api/models/servers", json=body)
            mine, theirs = f"{first.url}#scripted", f"{other.url}#scripted"
            assert listed["current"] == mine
            assert (await told(app, "Who?")).answer == "The first."
            body = {"base_url": other.url.removesuffix("/v1"), "api_key": KEY}
            listed = await ask.ok("POST", "/api/models/servers", json=body)
            assert listed["current"] == mine
            assert {mine, theirs} <= {each["name"] for each in listed["models"]}
            await ask.ok("POST", "/api/models/select", json={"model_id": theirs})
            assert (await told(app, "And now?")).answer == "The second."
            assert [each["source"] for each in (await ways(ask))["servers"]] == ["settings"] * 2
        assert written(tmp_path) == {"servers": [first.url, other.url], "model_id": theirs}
        assert KEY not in (tmp_path / "config.toml").read_text(encoding="utf-8")
        async with believing(tmp_path, **ALONE) as (app, _):
            assert (await told(app, "Still?")).answer == "The second."


async def test_a_server_that_does_not_answer_is_not_remembered(tmp_path):
    async with answering() as server, believing(tmp_path, **ALONE) as (_, client):
        for body, status in (
            ({"base_url": NOWHERE, "api_key": KEY}, 422),
            ({"base_url": server.url, "model": "nothing", "api_key": KEY}, 404),
            ({"base_url": "ftp://127.0.0.1/v1"}, 422),
            ({"base_url": "http://me:secret@127.0.0.1/v1"}, 422),
            ({"base_url": "http://127.0.0.1/v1?x=#y"}, 422),
        ):
            refused = await client().refused("POST", "/api/models/servers", json=body)
            assert refused[0] == status, body
    assert not (tmp_path / "config.toml").exists()
    assert not (tmp_path / ".env").exists()


@asynccontextmanager
async def weights_server(content):
    """Gives away weights, the second half only when it is asked for; yields its address."""
    asked = []

    async def answer(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        begin = int(head.partition("bytes=")[2].partition("-")[0] or 0)
        asked.append(begin)
        status = "206 Partial Content" if begin else "200 OK"
        rest = len(content) - begin
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {rest}\r\n\r\n".encode())
        writer.write(content[begin:] if begin else content[: len(content) // 2])
        await writer.drain()
        if not begin:
            await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/weights", asked


async def pulled(ask, wanted):
    """The download, once it is as it should be."""
    async with asyncio.timeout(60):
        while True:
            found = await ask.ok("GET", "/api/models/pull")
            if wanted(found):
                return found


async def test_weights_are_fetched_stopped_and_fetched_to_the_end(tmp_path, monkeypatch):
    content = bytes(range(256)) * 16384
    digest = hashlib.sha256(content).hexdigest()
    async with weights_server(content) as (url, asked):
        tiny = replace(catalog.QWEN_HALF, url=url, size=len(content), sha256=digest, wheels=())
        monkeypatch.setitem(catalog.CATALOG, tiny.name, tiny)
        monkeypatch.setattr(catalog, "RUNTIME", "json")
        name = f"local:{tiny.name}"
        async with believing(tmp_path, **ALONE) as (app, client):
            ask = client()
            begun = await ask("POST", "/api/models/pull")
            assert (begun.status_code, begun.json()["state"]) == (202, "running")
            half = await pulled(ask, lambda each: each["received"] == len(content) // 2)
            assert half == {
                "name": name, "state": "running", "message": "",
                "received": len(content) // 2, "total": len(content),
            }  # fmt: skip
            again = {"name": name}
            assert (await ask.ok("POST", "/api/models/pull", json=again))["state"] == "running"
            other = {"name": "local:qwen2.5-coder-1.5b"}
            assert await ask.refused("POST", "/api/models/pull", json=other) == (409, "busy")
            stopped = await ask.ok("DELETE", "/api/models/pull")
            assert (stopped["state"], stopped["message"][:7]) == ("idle", "Stopped")
            await ask.ok("POST", "/api/models/pull", json=again)
            done = await pulled(ask, lambda each: each["state"] != "running")
            assert (done["state"], done["received"]) == ("done", len(content)), done
            assert (await ways(ask))["embedded"]["installed"]
            chosen = await ask.ok("POST", "/api/models/select", json={"model_id": name})
            assert chosen["model"] == app.models.usual == name
    assert asked == [0, len(content) // 2]


async def test_a_download_that_fails_says_why(tmp_path, monkeypatch):
    gone = replace(catalog.QWEN_HALF, url=f"{NOWHERE}/weights", wheels=())
    monkeypatch.setitem(catalog.CATALOG, gone.name, gone)
    monkeypatch.setattr(catalog, "RUNTIME", "json")
    async with believing(tmp_path, **ALONE) as (_, client):
        ask = client()
        await ask.ok("POST", "/api/models/pull", json={})
        failed = await pulled(ask, lambda each: each["state"] != "running")
        assert failed["state"] == "failed"
        assert "could not be had" in failed["message"]
        unknown = await ask.refused("POST", "/api/models/pull", json={"name": "local:none"})
        assert unknown == (404, "not_found")
