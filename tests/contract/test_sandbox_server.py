"""The sandbox server, asked as any program would."""

import asyncio
import base64
import os
import signal
import sys
from contextlib import asynccontextmanager

import httpx2
import pytest
from tests.contract.sandboxes import KEY, served

from long_running_agents.clock import SystemClock
from long_running_agents.errors import SandboxUnavailable, UsageError
from long_running_agents.sandbox.base import MEGABYTE, Probe, SandboxLimits, SandboxSpec
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend
from long_running_agents.sandbox.manager import Sandboxes
from long_running_agents.sandbox.remote import RemoteBackend
from long_running_agents.sandbox.server import create_app

pytestmark = pytest.mark.anyio

USUAL = SandboxSpec(limits=SandboxLimits(memory=256 * MEGABYTE), network=("example.org",))


class Nothing:
    """A backend that never works."""

    name = "nothing"

    def probe(self):
        return Probe(backend="nothing", ok=False, reason="it is not there", fix="get it")

    async def create(self, spec):
        raise SandboxUnavailable("It is not there.", hint="get it")


@asynccontextmanager
async def asked(backend=None, most=8):
    """A client of a server on loopback."""
    clock = SystemClock()
    sandboxes = Sandboxes(backend or BubblewrapBackend(clock), clock, most=most)
    async with (
        served(create_app(sandboxes, USUAL, KEY)) as address,
        httpx2.AsyncClient(
            base_url=address, headers={"Authorization": f"Bearer {KEY}"}, timeout=30
        ) as client,
    ):
        yield client
    await sandboxes.close()


@pytest.fixture
async def client():
    async with asked() as client:
        yield client


async def test_the_old_clients_get_all_they_know(client):
    made = (await client.post("/sandboxes", json={"lang": "python"})).json()
    path = f"/sandboxes/{made['id']}"
    good = (await client.post(f"{path}/execute", json={"code": "print(6 * 7)"})).json()
    bad = (await client.post(f"{path}/execute", json={"code": "1 / 0"})).json()

    assert (made["status"], made["port"]) == ("running", None)
    assert good["type"] == "result"
    assert (good["stdout"], good["stderr"], good["success"]) == ("42\n", "", True)
    assert bad["success"] is False
    assert "ZeroDivisionError" in bad["stderr"]
    assert bad["error"]["ename"] == "ZeroDivisionError"
    assert (await client.get(path)).json() == made
    assert (await client.get("/sandboxes")).json() == [made]
    assert (await client.delete(path)).json() == {"id": made["id"], "status": "deleted"}
    assert (await client.get(path)).status_code == 404


async def test_shell_calls_files_and_reset(client):
    made = (await client.post("/sandboxes", json={})).json()
    path = f"/sandboxes/{made['id']}"
    content = base64.b64encode(b"hello").decode()
    await client.put(f"{path}/files", json={"path": "d/a", "content_b64": content})
    shell = (await client.post(f"{path}/shell", json={"command": "cat d/a; exit 3"})).json()
    wanted = {"source": "def f(a): return [a]", "function": "f", "kwargs": {"a": 1}}
    called = (await client.post(f"{path}/call", json=wanted)).json()
    found = (await client.get(f"{path}/files", params={"path": "d/a"})).json()
    listed = (await client.get(f"{path}/files", params={"depth": "2"})).json()
    await client.post(f"{path}/execute", json={"code": "x = 1"})
    await client.post(f"{path}/reset")
    after = (await client.post(f"{path}/execute", json={"code": "x"})).json()

    assert (shell["stdout"], shell["exit_code"], shell["success"]) == ("hello", 3, False)
    assert called["value"] == [1]
    assert found == {"path": "d/a", "content_b64": content}
    assert [entry["path"] for entry in listed] == ["d", "d/a"]
    assert after["error"]["ename"] == "NameError"


@pytest.mark.parametrize("key", ["", "Bearer", "Bearer wrong", f"Bearer {KEY}x", f"Basic {KEY}"])
@pytest.mark.parametrize("path", ["/sandboxes", "/health", "/sandboxes/x", "/nothing"])
async def test_nothing_is_said_without_the_key(client, key, path):
    answer = await client.get(path, headers={"Authorization": key})

    assert answer.status_code == 401
    assert answer.json()["error"] == "unauthorized"


@pytest.mark.parametrize("key", ["", "undefined", "null"])
async def test_a_server_without_a_real_key_does_not_start(key):
    with pytest.raises(UsageError):
        create_app(Sandboxes(Nothing(), SystemClock()), USUAL, key)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/sandboxes", {"lang": "cobol"}, 400),
        ("POST", "/sandboxes/none/execute", {"code": "1"}, 404),
        ("POST", "/sandboxes/none/execute", {"no": "code"}, 400),
        ("POST", "/sandboxes/none/execute", {"code": "1", "timeout": 601}, 400),
        ("DELETE", "/sandboxes/none", None, 404),
        ("PUT", "/sandboxes/none/files", {"path": "a", "content_b64": "?"}, 400),
    ],
)
async def test_a_wrong_request_says_what_is_wrong(client, method, path, body, status):
    answer = await client.request(method, path, json=body)

    assert answer.status_code == status
    assert answer.json()["message"]


async def test_paths_that_lead_out_are_refused(client):
    made = (await client.post("/sandboxes", json={})).json()
    for path in ("../x", "/etc/passwd", ".ssh/id_rsa"):
        answer = await client.get(f"/sandboxes/{made['id']}/files", params={"path": path})
        assert answer.status_code == 403
        assert answer.json()["error"] == "path_refused"


async def test_a_client_gets_no_more_than_the_server_allows(client):
    wanted = {"limits": {"memory": 1 << 40, "processes": 10**6}, "network": ["evil.example"]}
    made = (await client.post("/sandboxes", json=wanted)).json()
    code = "import os; bytearray(400_000_000)"
    told = await client.post(f"/sandboxes/{made['id']}/execute", json={"code": code})
    env = await client.post(f"/sandboxes/{made['id']}/shell", json={"command": "echo $http_proxy"})

    assert told.json()["error"]["ename"] == "MemoryError"
    assert env.json()["stdout"] == "\n"


async def test_there_is_a_limit_to_how_many():
    async with asked(most=1) as client:
        assert (await client.post("/sandboxes", json={})).status_code == 200
        answer = await client.post("/sandboxes", json={})

    assert answer.status_code == 409
    assert answer.json()["error"] == "busy"


async def test_without_a_backend_the_answer_is_the_fix():
    async with asked(Nothing()) as client:
        health = await client.get("/health")
        answer = await client.post("/sandboxes", json={})

    assert health.json()["probes"][0]["fix"] == "get it"
    assert answer.status_code == 503
    assert answer.json()["error"] == "sandbox_unavailable"
    assert answer.json()["hint"] == "get it"


async def test_a_client_that_leaves_stops_its_cell(client):
    made = (await client.post("/sandboxes", json={})).json()
    path = f"/sandboxes/{made['id']}"
    begun = {"code": "open('begun', 'w').close()\nwhile True: pass", "timeout": 60}
    call = asyncio.ensure_future(client.post(f"{path}/execute", json=begun))
    while not (await client.get(f"{path}/files")).json():
        pass
    call.cancel()
    after = await client.post(f"{path}/execute", json={"code": "1", "timeout": 5})

    assert after.json()["success"]


async def test_the_health_of_a_server_is_its_clients_probe(client):
    good = await asyncio.to_thread(RemoteBackend(str(client.base_url), KEY).probe)
    wrong = await asyncio.to_thread(RemoteBackend(str(client.base_url), "wrong").probe)
    nobody = await asyncio.to_thread(RemoteBackend("http://127.0.0.1:9", KEY).probe)
    keyless = await asyncio.to_thread(RemoteBackend(str(client.base_url), "").probe)

    assert not keyless.ok
    assert "no SANDBOX_API_KEY" in keyless.reason
    assert good.ok
    assert "seccomp" in good.isolation
    assert not wrong.ok
    assert "401" in wrong.reason
    assert not nobody.ok
    assert "lra sandbox serve" in nobody.fix


async def test_a_server_that_is_gone_loses_its_sandboxes_and_says_so():
    async with asked() as client:
        sandbox = await RemoteBackend(str(client.base_url), KEY).create(USUAL)
        assert (await sandbox.execute("1")).success

    failed = await sandbox.execute("1")
    assert failed.error.name == "SandboxDied"
    assert not sandbox.alive
    await sandbox.destroy()


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "uvicorn", "long_running_agents.sandbox.server:app", "--port", "0"],
        ["-m", "long_running_agents", "sandbox", "serve", "--port", "0"],
    ],
    ids=["uvicorn", "lra"],
)
async def test_both_commands_serve_and_leave_nothing_behind(words):
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        env={**os.environ, "SANDBOX_API_KEY": KEY},
        stderr=asyncio.subprocess.PIPE,
    )
    address = ""
    while "http://" not in address:
        address = (await server.stderr.readline()).decode()
    url = "http://" + address.split("http://")[1].split()[0].rstrip(",")
    sandbox = await RemoteBackend(url, KEY).create(USUAL)
    result = await sandbox.execute("6 * 7")
    server.send_signal(signal.SIGINT)
    await server.communicate()

    assert result.display[0]["text/plain"] == "42"
    assert result.elsewhere
    assert (await sandbox.execute("1")).error.name == "SandboxDied"
    await sandbox.destroy()
