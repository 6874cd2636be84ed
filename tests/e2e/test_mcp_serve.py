"""`lra mcp serve`, a real process, and the library's own client at its pipes."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from tests.contract.mcp.offered import GENERATIONS
from tests.e2e.served import environment, served
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, ToolCall, hang, say

pytestmark = pytest.mark.anyio

SCRIPT = Script(
    (
        Rule("^wait", (hang(),)),
        Rule(
            "^plan",
            (
                say("A plan:", calls=(ToolCall("create_task", {"title": "Buy milk"}),)),
                say("So be it."),
            ),
        ),
        Rule("", (say("Hello there, friend."),)),
    )
)
ARGUMENTS = ["-m", "long_running_agents", "mcp", "serve"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


@pytest.fixture
def model():
    with scripted_process(SCRIPT) as url:
        yield url


def talking(home, model, mode="auto", **variables):
    """The library's client; it starts the process, and ends it."""
    program = StdioServerParameters(
        command=sys.executable, args=ARGUMENTS, env=environment(home, model, **variables)
    )
    return Client(program, mode=mode, cache=None)


async def story(client):
    """What every client can do."""
    assert "ask" in {tool.name for tool in (await client.list_tools()).tools}
    heard = []

    async def hear(progress, total, message):
        heard.append(message)

    asked = {"message": "plan", "session_id": "s"}
    done = await client.call_tool("ask", asked, progress_callback=hear)
    assert done.structured_content["answer"] == "So be it."
    assert "uses create_task" in heard
    tasks = await client.call_tool("list_tasks", {"session_id": "s"})
    assert [each["title"] for each in tasks.structured_content["tasks"]] == ["Buy milk"]
    written = await client.call_tool("remember", {"text": "The heron eats frogs."})
    assert written.structured_content["status"] == "stored"
    found = await client.call_tool("search_memory", {"query": "What does the heron eat?"})
    best = found.structured_content["memories"][0]
    assert (best["content"], best["trust"]) == ("The heron eats frogs.", "tool")
    refused = await client.call_tool("ask", {"message": 5})
    assert refused.is_error
    waiting = asyncio.create_task(client.call_tool("ask", {"message": "wait", "session_id": "w"}))
    while await last_status(client) != "running":
        assert not waiting.done()
    waiting.cancel()
    while (status := await last_status(client)) != "stopped":
        assert status == "running"


async def last_status(client):
    history = await client.call_tool("session_history", {"session_id": "w"})
    if history.is_error:
        return "not there yet"
    return next((turn["status"] for turn in reversed(history.structured_content["turns"])), "")


@pytest.mark.parametrize("mode", GENERATIONS)
async def test_a_home_of_its_own(tmp_path, model, mode):
    async with talking(tmp_path, model, mode) as client:
        await story(client)


@pytest.mark.parametrize("mode", GENERATIONS)
async def test_a_running_server_is_joined(tmp_path, model, mode):
    with served(tmp_path, model):
        async with talking(tmp_path, model, mode) as client:
            await story(client)


async def test_a_failed_turn_has_code_and_hint_also_at_a_server(tmp_path):
    nobody = "http://127.0.0.1:9/v1"
    with served(tmp_path, nobody, LRA_AGENT__MODEL__RETRIES="0"):
        async with talking(tmp_path, nobody) as client:
            failed = await client.call_tool("ask", {"message": "Hello"})
            assert failed.is_error
            assert failed.structured_content["code"]
            assert failed.structured_content["turn_id"]


def started(home, model):
    return subprocess.Popen(
        [sys.executable, *ARGUMENTS],
        env=environment(home, model),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def say_line(process, line):
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def test_hostile_lines_are_answered_and_stdout_is_the_protocol_alone(tmp_path, model):
    process = started(tmp_path, model)
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    deep = "[" * 5000 + "]" * 5000
    hostile = [
        ("nonsense", None, -32700),
        ("[" * 100_000, None, -32700),
        ("7", None, -32600),
        ('{"jsonrpc":"2.0","id":3}', 3, -32600),
        ("x" * (17 << 20), None, -32700),
        ('{"jsonrpc":"2.0","id":4,"method":"to\\ud800"}', 4, -32603),
        (json.dumps({**call, "params": {"name": "run_shell", "arguments": {}}}), 7, -32602),
        (json.dumps({**call, "params": {"name": "\ud800", "arguments": {}}}), 7, -32602),
        (f'{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"x":{deep}}}}}', None, -32700),
    ]
    try:
        say_line(process, json.dumps(HELLO))
        assert json.loads(process.stdout.readline())["id"] == 1
        say_line(process, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
        for line, known, code in hostile:
            say_line(process, line)
            told = json.loads(process.stdout.readline())
            assert (told["id"], told["error"]["code"]) == (known, code), line[:80]
        half = {**call, "params": {"name": "ask", "arguments": {"message": "\ud800"}}}
        say_line(process, json.dumps(half))
        assert json.loads(process.stdout.readline())["result"]["isError"]
        say_line(process, '{"jsonrpc":"2.0","id":9,"method":"ping"}')
        assert json.loads(process.stdout.readline()) == {"jsonrpc": "2.0", "id": 9, "result": {}}
        rest, complaints = process.communicate(timeout=300)
        assert (process.returncode, rest, complaints) == (0, "", "")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_leaves_when_told_although_stdin_is_open(tmp_path, model, how):
    process = started(tmp_path, model)
    try:
        say_line(process, json.dumps(HELLO))
        assert json.loads(process.stdout.readline())["id"] == 1
        os.kill(process.pid, how)
        assert process.wait(timeout=300) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_turn_goes_on_after_its_client_has_left(tmp_path, model):
    process = started(tmp_path, model)
    try:
        say_line(process, json.dumps(HELLO))
        process.stdout.readline()
        ask = {"name": "ask", "arguments": {"message": "wait", "session_id": "w"}}
        asking = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": ask}
        say_line(process, json.dumps(asking))
        look = {"name": "session_history", "arguments": {"session_id": "w"}}
        looking = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": look}
        status = ""
        while status != "running":
            say_line(process, json.dumps(looking))
            told = json.loads(process.stdout.readline())["result"]["structuredContent"]
            status = told["turns"][-1]["status"] if "turns" in told else ""
        process.communicate(timeout=300)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
    listed = subprocess.run(
        [sys.executable, "-m", "long_running_agents", "sessions", "show", "w", "--json"],
        env=environment(tmp_path, model),
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"stopped"' not in listed.stdout


def test_a_home_that_somebody_else_has_open_is_joined(tmp_path, model):
    first = started(tmp_path, model)
    try:
        say_line(first, json.dumps(HELLO))
        first.stdout.readline()
        second = subprocess.run(
            [sys.executable, *ARGUMENTS],
            env=environment(tmp_path, model),
            input="",
            capture_output=True,
            text=True,
            check=False,
        )
        assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    finally:
        first.kill()
        first.communicate()
