"""The routes and fields that the seed documents, at a real server process with a scripted model."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import httpx2
import pytest
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, call, say

SCRIPT = Script(
    (
        Rule("", (call("create_task", title="List the files"), say("There are two files."))),
        Rule("", (say("Yes."),) * 20),
    )
)
SAYS = "listening on "


def environment_of(home):
    own = {"LRA_HOME": str(home), "HOME": str(home), "LRA_AGENT__MODEL__PROBE": "[]"}
    return {"PATH": os.environ["PATH"], **own}


@contextmanager
def serving(home):
    """`lra serve` in a process of its own; yields a client of it."""
    server = subprocess.Popen(
        [sys.executable, "-m", "long_running_agents", "serve", "--port", "0"],
        env=environment_of(home),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = server.stdout.readline()
        assert line.startswith(SAYS), line
        address = line.removeprefix(SAYS).strip()
        with httpx2.Client(base_url=address, timeout=300, trust_env=False) as client:
            yield client
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=300)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("seed") / "home"


@pytest.fixture(scope="module")
def client(home):
    with scripted_process(SCRIPT) as model_url:
        home.mkdir()
        (home / "config.toml").write_text(
            f'[agent.model]\nmodel_id = "scripted"\nbase_url = "{model_url}"\n', encoding="utf-8"
        )
        ask_once(home)
        with serving(home) as client:
            yield client


def ask_once(home):
    """A session called my-session, made by the command line before anybody serves."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "long_running_agents",
            "ask",
            "--session",
            "my-session",
            "List files",
        ],
        env=environment_of(home),
        check=True,
        capture_output=True,
        timeout=300,
    )


def ok(answer):
    assert answer.is_success, answer.text
    return answer.json()


def test_status(client):
    status = ok(client.get("/api/status"))
    assert status["status"] == "ok"
    assert status["model"] == "custom:scripted"
    assert status["sessions"] >= 1


def test_list_sessions(client):
    found = ok(client.get("/api/sessions"))["sessions"]
    mine = next(each for each in found if each["id"] == "my-session")
    assert mine["mode"] == "bounded"
    assert mine["turns"] == 1
    assert mine["preview"] == "There are two files."


def test_session_history(client):
    found = ok(client.get("/api/sessions/my-session/history"))
    roles = [each["role"] for each in found["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert found["messages"][0]["content"] == "List files"


def test_session_tasks(client):
    found = ok(client.get("/api/sessions/my-session/tasks"))
    assert [task["title"] for task in found["tasks"]] == ["List the files"]
    assert [task["title"] for task in found["tree"]] == ["List the files"]
    assert found["summary"] == "0 of 1 tasks completed"


@pytest.mark.parametrize("wanted", ["today", "7d", "30d", "all"])
def test_usage(client, wanted):
    found = ok(client.get("/api/usage", params={"range": wanted}))
    assert found["range"] == wanted
    assert found["total"]["requests"] == 2
    assert [each["model"] for each in found["by_model"]]
    assert [each["session_id"] for each in found["by_session"]] == ["my-session"]


def test_recent_activity(client):
    found = ok(client.get("/api/activity", params={"limit": 50}))["activity"]
    types = [each["type"] for each in found]
    assert types[0] == "done"
    assert {"message", "tool_call", "tool_result", "task_update", "text", "done"} <= set(types)
    called = next(each for each in found if each["type"] == "tool_call")
    assert {"tool", "input", "tool_call_id"} <= set(called)
    came = next(each for each in found if each["type"] == "tool_result")
    assert {"tool", "result_preview", "duration_ms", "success"} <= set(came)


def test_models_are_listed_and_switched(client):
    found = ok(client.get("/api/models"))
    assert found["current"] == "custom:scripted"
    nobody = {"provider": "lmstudio", "model_id": "your-model-id"}
    refused = client.post("/api/models/select", json=nobody)
    assert (refused.status_code, refused.json()["code"]) == (422, "unreachable")
    assert ok(client.get("/api/models"))["current"] == "custom:scripted"
    choice = {"provider": "custom", "model_id": "scripted"}
    done = ok(client.post("/api/models/select", json=choice))
    assert done["model"] == "custom:scripted"
    unknown = client.post("/api/models/select", json={"provider": "nobody", "model_id": "x"})
    assert unknown.status_code == 400
    assert unknown.json()["hint"]


def test_cron_jobs(client, home):
    job = {
        "id": "daily-check",
        "name": "Daily status check",
        "schedule": "daily 09:00",
        "prompt": "Check system status and summarize any issues.",
        "session_id": "cron-daily-check",
        "enabled": True,
    }
    folder = home / "workspace"
    folder.mkdir(exist_ok=True)
    (folder / "cron.json").write_text(json.dumps([job]))
    [shown] = ok(client.post("/api/cron/reload"))["jobs"]
    assert shown.items() >= job.items()
    assert shown["next_run"].endswith("09:00:00Z")
    assert ok(client.get("/api/cron"))["jobs"] == [shown]
    run = ok(client.post("/api/cron/daily-check/run"))
    assert (run["id"], run["session_id"]) == ("daily-check", "cron-daily-check")
    assert ok(client.post("/api/cron/daily-check/toggle"))["enabled"] is False
    assert json.loads((folder / "cron.json").read_text())[0]["enabled"] is False
    assert ok(client.post("/api/cron/daily-check/toggle"))["enabled"] is True
    assert client.post("/api/cron/nobody/run").status_code == 404
    (folder / "cron.json").write_text("{broken")
    broken = client.post("/api/cron/reload")
    assert (broken.status_code, broken.json()["code"]) == (400, "bad_request")


def test_delete_session(client):
    new = ok(client.post("/api/sessions", json={"id": "short"}))
    assert new["id"] == "short"
    assert client.delete("/api/sessions/short").status_code == 204
    assert client.get("/api/sessions/short").status_code == 404
    assert client.delete("/api/sessions/short").status_code == 404
