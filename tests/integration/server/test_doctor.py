"""The doctor over HTTP."""

import asyncio
import json

import pytest
from tests.integration.server.owners import believing

from long_running_agents.cli.main import run
from long_running_agents.domain.memory import MemoryDraft, Viewer

pytestmark = pytest.mark.anyio


async def test_an_admin_is_told_what_lra_doctor_tells(tmp_path, capsys):
    home = {"agent__model__base_url": "http://127.0.0.1:9/v1", "agent__model__model_id": "x"}
    async with believing(tmp_path, **home) as (app, client):
        await app.memories.write(Viewer(owner="me"), MemoryDraft(content="The heron eats frogs."))
        seen = await client(scopes="admin").ok("GET", "/api/doctor")
        names = [check["name"] for check in seen["checks"]]
    # It has a loop of its own.
    await asyncio.to_thread(run, ["--home", str(tmp_path), "doctor", "--json"])
    assert names == [check["name"] for check in json.loads(capsys.readouterr().out)]
    found = {check["name"]: check for check in seen["checks"]}
    assert found["memory"]["state"] == "ok"
    assert "1 memory" in found["memory"]["detail"]
    assert found["database"]["state"] == "ok"
    assert found["model"] == {
        "name": "model",
        "state": "problem",
        "detail": "custom:x: its server does not answer",
        "fix": "Start that server, or choose another model: 'lra models list'.",
    }


async def test_a_problem_comes_with_what_to_do(tmp_path):
    async with believing(tmp_path) as (_, client):
        secrets = tmp_path / ".env"
        secrets.write_text("OPENAI_API_KEY=x", encoding="utf-8")
        secrets.chmod(0o644)
        seen = await client().ok("GET", "/api/doctor")
    assert not seen["sound"]
    [check] = [check for check in seen["checks"] if check["name"] == "secrets"]
    assert check["state"] == "problem"
    assert check["fix"].startswith("chmod 600")


async def test_whoever_only_chats_is_told_nothing(tmp_path):
    async with believing(tmp_path) as (_, client):
        told = await client(scopes="read chat approve").refused("GET", "/api/doctor")
    assert told == (403, "denied")
