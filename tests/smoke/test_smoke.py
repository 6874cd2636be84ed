"""Does it start, answer, remember, run code, and survive? One server, one check a line."""

import json
import subprocess
import sys

import httpx2
import pytest
import websockets.sync.client as websocket
from tests.e2e.served import environment, served
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, call, say

SCRIPT = Script(
    (
        Rule("^compute", (call("execute_code", code="6 * 7"), say("It is done."))),
        Rule("", (say("Hello there."),)),
    )
)


@pytest.fixture(scope="module")
def model_url():
    with scripted_process(SCRIPT) as url:
        yield url


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def lra(home, model_url):
    """Runs the program as a process of its own, and returns what it printed."""

    def run(*words, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "long_running_agents", *words],
            env=environment(home, model_url),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def server(home, model_url, lra):
    lra("init")
    with served(home, model_url) as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    with httpx2.Client(base_url=server.address, trust_env=False, timeout=120) as client:
        yield client


def chat(client, text, session="smoke"):
    answer = client.post(f"/api/chat/{session}", json={"message": text})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_home_is_in_order(server, lra):
    states = {check["name"]: check["state"] for check in json.loads(lra("doctor", "--json"))}

    assert "failed" not in states.values(), states


def test_it_is_ready_and_shows_its_page(client):
    assert client.get("/ready").status_code == 200
    assert "<title>" in client.get("/").text


def test_it_answers(client):
    assert chat(client, "My dog is called Rex.")["text"] == "Hello there."


def test_it_remembers(client, lra):
    chat(client, "My dog is called Rex.")

    assert "Rex" in lra("memory", "search", "dog")


def test_it_runs_code_in_the_sandbox(client):
    chat(client, "compute it", "code")
    told = client.get("/api/sessions/code/events").text

    assert "42" in told


def test_it_streams_over_a_websocket(server):
    address = server.address.replace("http://", "ws://")
    with websocket.connect(f"{address}/ws/live", proxy=None) as socket:
        socket.send(json.dumps({"type": "message", "content": "Hi"}))
        kinds = []
        while "done" not in kinds:
            kinds.append(json.loads(socket.recv(timeout=300))["type"])

    assert "error" not in kinds


def test_openai_clients_are_answered(client):
    asked = {"model": "lra", "messages": [{"role": "user", "content": "Hi"}]}
    answer = client.post("/v1/chat/completions", json=asked).json()

    assert answer["choices"][0]["message"]["content"] == "Hello there."


def test_a_terminal_joins_it(server, lra):
    assert "Hello there." in lra("ask", "Hi")


def test_the_lists_are_there(client, lra):
    chat(client, "Hi")
    assert "smoke" in lra("sessions", "list")
    assert "execute_code" in lra("list-tools")
    lra("memory", "list")
    lra("approvals", "list")


def test_a_wrong_word_is_a_usage_error(lra):
    lra("no-such-command", code=2)


def test_a_kill_loses_nothing(home, model_url, server, client, lra):
    before = client.get("/api/sessions").json()
    server.kill()

    with served(home, model_url) as again:
        after = httpx2.get(f"{again.address}/api/sessions", trust_env=False, timeout=300).json()
    assert [each["id"] for each in after["sessions"]] == [each["id"] for each in before["sessions"]]
