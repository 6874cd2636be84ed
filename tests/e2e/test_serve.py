"""`lra serve` as a process of its own: what it refuses, who may come in, and how it leaves."""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections import deque

import httpx2
import pytest
import websockets.sync.client as websocket
from websockets.exceptions import InvalidStatus

from long_running_agents.cli.main import run

LRA = (sys.executable, "-m", "long_running_agents")
IDLE = 10_000
HELD = 2_000
"""How many of the idle connections are open at the same time."""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without any model: that is no reason not to start."""
    monkeypatch.setenv("LRA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def lra(home, capsys):
    """Runs the program beside a server: lra(...) -> (exit code, stdout, stderr)."""

    def call_it(*words):
        code = run(words)
        out, err = capsys.readouterr()
        return code, out, err

    return call_it


@contextlib.contextmanager
def serving(*words, **more):
    """A server that runs; yields the process and its address."""
    server = subprocess.Popen(
        [*LRA, "serve", "--port", "0", *words],
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = server.stdout.readline()
        assert line.startswith("listening on "), server.stderr.read()
        yield server, line.removeprefix("listening on ").strip()
    finally:
        server.kill()
        server.communicate()


def client(address, secret=None):
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return httpx2.Client(base_url=address, headers=headers, trust_env=False, timeout=300)


def test_case_19_an_open_bind_is_refused_without_a_token_and_needs_one_afterwards(lra):
    code, out, err = lra("serve", "--host", "0.0.0.0", "--port", "0")
    assert (code, out) == (2, "")
    assert "lra tokens create" in err

    code, out, _ = lra("tokens", "create", "phone", "--scope", "read")
    secret = out.strip()
    with serving("--host", "0.0.0.0") as (_, address):
        port = address.rpartition(":")[2]
        here = f"http://127.0.0.1:{port}"
        with client(here) as nobody, client(here, secret) as somebody:
            assert nobody.get("/api/status").status_code == 401
            answer = somebody.get("/api/status")
            assert answer.status_code == 200
            assert "server" not in answer.headers


def test_a_taken_port_and_a_taken_home_are_said_with_codes_that_mean_later(lra, tmp_path):
    with serving() as (_, address):
        port = address.rpartition(":")[2]
        taken = lra("--home", str(tmp_path / "other"), "serve", "--port", port)
        busy = lra("serve", "--port", "0")
    assert (taken[0], busy[0]) == (75, 75)
    assert port in taken[2]
    assert "is using" in busy[2]


def test_case_5_tokens_are_changed_from_outside_while_the_server_runs(lra):
    with serving(LRA_GATEWAY__REQUIRE_TOKEN="true") as (_, address):
        made = json.loads(lra("tokens", "create", "phone", "--json")[1])
        listed = json.loads(lra("tokens", "list", "--json")[1])
        assert [each["id"] for each in listed] == [made["id"]]
        with client(address, made["secret"]) as phone:
            assert phone.get("/api/status").status_code == 200
            code, out, _ = lra("tokens", "rotate", made["id"])
            assert (code, phone.get("/api/status").status_code) == (0, 401)
        with client(address, out.strip()) as phone:
            assert phone.get("/api/status").status_code == 200
            assert lra("tokens", "revoke", made["id"])[0] == 0
            assert phone.get("/api/status").status_code == 401
        missing = lra("tokens", "revoke", "token_x")
    assert missing[0] == 3
    assert "No token" in missing[2]
    assert lra("tokens", "list", "--json")[1].strip() == "[]"


NOBODY = 65534
ASK = 'exec 3<>"/dev/tcp/127.0.0.1/$1"; printf %b "$2" >&3; head -n 1 <&3'
"""A program that every user can run: asks, and tells the first line of the answer."""


def status_for(user, address, asked, *headers):
    """What a user of this machine is answered."""
    port = address.rpartition(":")[2]
    lines = [f"{asked} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", *headers]
    text = "\\r\\n".join([*lines, "", ""])
    ran = subprocess.run(
        ["/bin/bash", "-c", ASK, "ask", port, text],
        check=True, user=user, cwd="/", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return ran.stdout.split()[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_this_machine_needs_a_token(lra):
    ways = [
        ("GET /api/status",),
        ("POST /api/tokens", "Content-Length: 0"),
        ("GET /v1/models", "Authorization: Bearer none"),
        ("POST /mcp", "Content-Length: 0"),
        (
            "GET /ws/activity", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ),
    ]  # fmt: skip
    secret = lra("tokens", "create", "phone", "--scope", "read")[1].strip()
    with serving() as (_, address):
        assert [status_for(NOBODY, address, *way) for way in ways] == ["401"] * len(ways)
        assert "401" not in [status_for(0, address, *way) for way in ways]
        known = f"Authorization: Bearer {secret}"
        assert status_for(NOBODY, address, "GET /api/status", known) == "200"
        assert status_for(NOBODY, address, "GET /health") == "200"
    assert [each["name"] for each in json.loads(lra("tokens", "list", "--json")[1])] == ["phone"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_asked_to_stop_leaves_cleanly(home, how):
    with serving() as (server, address), client(address) as kept:
        assert kept.get("/health").status_code == 200
        # A request that never comes to its end does not hold it up.
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as half:
            half.sendall(b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
            server.send_signal(how)
            _, err = server.communicate(timeout=300)
    assert server.returncode == 0
    assert [line for line in err.splitlines() if "There is no model yet" not in line] == []
    assert not (home / "server.json").exists()


def test_whoever_asks_twice_need_not_wait(home):
    with serving() as (server, address):
        port = int(address.rpartition(":")[2])
        with client(address) as kept, socket.create_connection(("127.0.0.1", port)):
            assert kept.get("/health").status_code == 200
            server.send_signal(signal.SIGSTOP)
            # Both are there before it can do anything about the first.
            server.send_signal(signal.SIGINT)
            server.send_signal(signal.SIGTERM)
            server.send_signal(signal.SIGCONT)
            server.communicate(timeout=300)
    assert server.returncode == 130


def handles():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, HELD + 500)), hard))


@contextlib.contextmanager
def holding():
    """Holds the newest connections; yields what takes another one, and returns the oldest."""
    held = deque()

    def hold(line):
        held.append(line)
        return held.popleft() if len(held) > HELD else None

    try:
        yield hold
    finally:
        for line in held:
            line.close()


def test_case_6_ten_thousand_connections_that_say_nothing_leave_the_server_answering(home):
    handles()
    with serving() as (_, address), client(address) as asking, holding() as hold:
        port = int(address.rpartition(":")[2])
        for number in range(IDLE):
            oldest = hold(socket.create_connection(("127.0.0.1", port)))
            if oldest is not None:
                oldest.close()
            if number % 2500 == 0:
                assert asking.get("/health").status_code == 200
        with client(address) as another:
            assert another.get("/api/status").status_code == 200


def upgrade(port):
    """Ask for a WebSocket, and say nothing more."""
    line = socket.create_connection(("127.0.0.1", port))
    line.sendall(
        b"GET /ws/x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    return line


def test_case_6_ten_thousand_upgrades_of_nobody_are_refused_and_the_server_answers(lra):
    handles()
    secret = lra("tokens", "create", "phone")[1].strip()
    with (
        serving(LRA_GATEWAY__REQUIRE_TOKEN="true") as (_, address),
        client(address, secret) as asking,
        holding() as hold,
    ):
        port = int(address.rpartition(":")[2])
        for number in range(IDLE):
            oldest = hold(upgrade(port))
            if oldest is not None:
                with oldest:
                    assert oldest.recv(100).startswith(b"HTTP/1.1 401")
            if number % 2500 == 0:
                assert asking.get("/api/status").status_code == 200
        assert asking.get("/api/status").status_code == 200
        with pytest.raises(InvalidStatus):
            websocket.connect(f"ws://127.0.0.1:{port}/ws/x")
