"""Foreign servers as they are: real programs, real addresses, and such as mean no good."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from tests.contract.mcp.homes import REAL, lives, plain, starts, until, web_server, write
from tests.contract.mcp.plain_web import plain_web

from long_running_agents.clock import SystemClock
from long_running_agents.config import load
from long_running_agents.errors import Unavailable
from long_running_agents.mcp.base import CallCutOff, CallFailed, CallSucceeded
from long_running_agents.mcp.servers import McpServerState, servers_of
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

LONG = 30.0
"""Seconds to wait for a server of ours on a busy machine."""


@pytest.fixture
async def opened(tmp_path):
    """Opens servers that are closed with the test, and says which processes were left then."""
    open_ones = []

    def open_servers(*, clock=None, environ=None, **servers):
        write(tmp_path, **servers)
        loaded = load(home=tmp_path, environ=environ or {})
        found = servers_of(loaded, clock or SystemClock(), tuple)
        open_ones.append(found)
        return found

    yield open_servers
    for servers in open_ones:
        await servers.close()


async def ready(servers, name):
    server = servers.named(name)
    await server.tools(patience=LONG)
    assert server.status.state is McpServerState.READY, server.status
    return server


async def test_a_program_of_the_newest_generation_is_used(opened):
    server = await ready(opened(real=REAL), "real")

    assert server.status.protocol == "2026-07-28"
    assert "real_add" in [offer.name for offer in server.status.listing.offers]
    assert await server.call("add", {"a": 2, "b": 3}) == CallSucceeded("5")
    assert "boiled over" in (await server.call("refuse", {"why": "boiled over"})).text
    assert isinstance(await server.call("refuse", {"why": "x"}), CallFailed)
    assert isinstance(await server.call("add", {"a": "two"}), CallFailed)
    assert isinstance(await server.call("nothing", {}), CallFailed)
    sums = [server.call("add", {"a": number, "b": 1}) for number in range(20)]
    assert await asyncio.gather(*sums) == [CallSucceeded(str(number + 1)) for number in range(20)]
    shown = (await server.call("picture", {})).text
    assert "a cat" in shown
    assert "[image, image/png, about 3000 bytes: not shown]" in shown
    assert "answered" not in (await server.call("curious", {})).text


async def test_a_program_of_the_first_generation_is_used(opened, tmp_path):
    server = await ready(opened(plain=plain(tmp_path, {"name": "echo"})), "plain")

    assert server.status.protocol == "2025-06-18"
    assert await server.call("echo", {"a": [1]}) == CallSucceeded('{"a": [1]}')


async def test_a_program_that_expects_a_greeting_first_gets_it(opened, tmp_path):
    strict = plain(tmp_path, {"name": "who", "does": "pid"}, strict=True)
    server = await ready(opened(plain=strict), "plain")
    first = int((await server.call("who", {})).text)
    os.kill(first, signal.SIGKILL)
    await until(lambda: server.status.state is not McpServerState.READY)
    second = int((await server.call("who", {})).text)

    # The very first one left when it was asked for its generation; later ones are not asked.
    assert starts(tmp_path)[1:] == [first, second]


@pytest.mark.parametrize(
    "method", ["sampling/createMessage", "elicitation/create", "roots/list", "tools/list"]
)
async def test_whatever_a_server_asks_of_us_is_refused(opened, tmp_path, method):
    params = {
        "sampling/createMessage": {"messages": [], "maxTokens": 9},
        "elicitation/create": {
            "message": "Your key?",
            "requestedSchema": {"type": "object", "properties": {}},
        },
    }
    tool = {"name": "ask", "does": "ask", "method": method, "params": params.get(method, {})}
    server = await ready(opened(plain=plain(tmp_path, tool)), "plain")

    heard = (await server.call("ask", {})).text
    assert '"error"' in heard
    assert '"result"' not in heard


async def test_a_program_gets_no_variable_but_the_harmless_and_its_own(opened):
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": "/",
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "sk-secret-of-ours",
        "MINE": "theirs",
        "LD_PRELOAD": "",
    }
    real = {**REAL, "env": {"GIVEN": "${MINE}", "ELSE": "${NONE:-else}"}}
    server = await ready(opened(environ=environ, real=real), "real")

    told = (await server.call("surroundings", {})).text
    assert "sk-secret" not in told
    for name, value in (("GIVEN", "theirs"), ("ELSE", "else"), ("LANG", "C.UTF-8"), ("HOME", "/")):
        assert f'"{name}": "{value}"' in told.replace("\n", "")
    assert "LRA_HOME" not in told


async def test_a_server_that_was_killed_between_two_calls_is_started_again(opened, tmp_path):
    server = await ready(opened(plain=plain(tmp_path, {"name": "who", "does": "pid"})), "plain")
    first = int((await server.call("who", {})).text)

    os.kill(first, signal.SIGKILL)
    await until(lambda: server.status.state is not McpServerState.READY)
    second = int((await server.call("who", {})).text)

    assert starts(tmp_path) == [first, second]
    assert server.status.state is McpServerState.READY


async def test_a_server_that_dies_in_a_call_leaves_it_uncertain(opened, tmp_path):
    tools = {"name": "die", "does": "die"}, {"name": "echo"}
    server = await ready(opened(plain=plain(tmp_path, *tools)), "plain")
    assert isinstance(await server.call("echo", {}), CallSucceeded)

    assert isinstance(await server.call("die", {}), CallCutOff)
    assert isinstance(await server.call("echo", {}), CallSucceeded)


async def test_a_server_that_dies_of_every_call_is_started_less_and_less_often(opened, tmp_path):
    clock = FrozenClock()
    servers = opened(clock=clock, plain=plain(tmp_path, {"name": "die", "does": "die"}))
    server = await ready(servers, "plain")
    assert isinstance(await server.call("die", {}), CallCutOff)

    for _ in range(5):
        with pytest.raises(Unavailable):
            await server.call("die", {})
    await clock.advance(2)
    assert isinstance(await server.call("die", {}), CallCutOff)
    await clock.advance(2)
    with pytest.raises(Unavailable, match="again in 2 seconds"):
        await server.call("die", {})

    assert len(starts(tmp_path)) == 2


async def test_a_server_that_cannot_start_is_not_started_at_every_step(opened, tmp_path):
    clock = FrozenClock()
    servers = opened(clock=clock, plain=plain(tmp_path, crash=True))
    server = servers.named("plain")
    for _ in range(5):
        assert (await server.tools()).offers == ()

    assert server.status.state is McpServerState.FAILED
    # Each attempt is made in both ways of greeting.
    assert len(starts(tmp_path)) == 2
    await clock.advance(3)
    await server.tools()
    assert len(starts(tmp_path)) == 4


async def test_a_server_that_says_nothing_is_waited_for_only_once(opened, tmp_path):
    clock = FrozenClock()
    server = opened(clock=clock, mute=plain(tmp_path, mute=True)).named("mute")
    waiting = asyncio.create_task(server.tools())
    await until(lambda: clock.sleepers)
    await clock.advance(4)

    assert (await waiting).offers == ()
    assert (await server.tools()).offers == ()
    assert server.status.state is McpServerState.STARTING
    await until(lambda: starts(tmp_path))
    await clock.advance(30)
    await until(lambda: server.status.state is McpServerState.FAILED)
    assert server.status.reason == "it did not answer within 30 seconds"
    await until(lambda: not lives(*starts(tmp_path)))


async def test_a_call_that_takes_too_long_is_uncertain_and_the_server_stays(opened, tmp_path):
    slow = {**plain(tmp_path, {"name": "hang", "does": "hang"}), "timeout": 0.2}
    server = await ready(opened(slow=slow), "slow")

    assert await server.call("hang", {}) == CallCutOff("no answer within 0.2 seconds")


async def test_a_call_that_nobody_waits_for_any_more_disturbs_no_other(opened):
    server = await ready(opened(real=REAL), "real")

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(server.call("wait", {}), 0.3)

    assert await server.call("add", {"a": 1, "b": 1}) == CallSucceeded("2")


HOST = """
import asyncio, sys
from long_running_agents.clock import SystemClock
from long_running_agents.config import load
from long_running_agents.mcp.servers import servers_of

async def main():
    servers = servers_of(load(home=sys.argv[1]), SystemClock(), tuple)
    await servers.named("plain").tools(patience=60)
    print(servers.named("plain").status.state, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_a_program_leaves_when_its_host_is_killed(tmp_path):
    write(tmp_path, plain=plain(tmp_path, {"name": "echo"}))
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, str(tmp_path), stdout=subprocess.PIPE
    )
    assert await host.stdout.readline() == b"ready\n"
    host.kill()
    await host.communicate()

    await until(lambda: not lives(*starts(tmp_path)))


async def test_an_answer_without_end_ends_the_conversation(opened, tmp_path):
    server = await ready(opened(plain=plain(tmp_path, {"name": "f", "does": "flood"})), "plain")

    assert isinstance(await server.call("f", {}), CallCutOff)


async def test_tools_that_change_are_asked_for_again(opened, tmp_path):
    server = await ready(opened(plain=plain(tmp_path, {"name": "grow", "does": "grow"})), "plain")
    assert await server.call("grow", {}) == CallSucceeded("grown")

    await server.tools()

    await until(lambda: len(server.status.listing.offers) > 1)
    assert server.status.listing.offers[1].name == "plain_grown"


@pytest.mark.parametrize("stubborn", [False, True])
async def test_no_process_is_left_behind(opened, tmp_path, stubborn):
    tools = {"name": "child", "does": "child"}, {"name": "who", "does": "pid"}
    hang = {"name": "hang", "does": "hang"}
    quick = {**plain(tmp_path, *tools, hang), "timeout": 2}
    servers = opened(plain=quick)
    server = await ready(servers, "plain")
    child, pid = [int((await server.call(name, {})).text) for name in ("child", "who")]
    assert lives(child)
    if stubborn:
        await server.call("hang", {})

    await servers.close()

    assert not lives(pid)
    await until(lambda: not lives(child))


async def test_a_server_that_is_still_starting_is_ended_too(opened, tmp_path):
    servers = opened(mute=plain(tmp_path, mute=True))
    waiting = asyncio.create_task(servers.named("mute").tools())
    await until(lambda: starts(tmp_path))

    await servers.close()
    await waiting

    await until(lambda: not lives(starts(tmp_path)[0]))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"command": "no-such-program"}, "no-such-program"),
        ({"command": "sh", "cwd": "/no/such/folder"}, "/no/such/folder"),
        ({"command": "sh", "args": ["-c", "exit 1"]}, "it ended before it answered"),
        ({"command": "${NOT_THERE}"}, "NOT_THERE is not set"),
        ({"url": "http://127.0.0.1:1/mcp"}, "nobody answers there"),
    ],
)
async def test_what_cannot_be_started_says_why(opened, given, reason):
    server = opened(x=given, environ={"PATH": os.environ["PATH"]}).named("x")

    assert (await server.tools(patience=LONG)).offers == ()
    assert server.status.state is McpServerState.FAILED
    assert reason in server.status.reason


async def test_a_server_at_an_address_is_used_with_its_headers(opened):
    with web_server() as (url, process):
        web = {"url": f"{url}/mcp", "headers": {"Authorization": "Bearer ${WEB_TOKEN}"}}
        servers = opened(environ={"WEB_TOKEN": "abcdef"}, web=web)
        server = await ready(servers, "web")

        assert await server.call("add", {"a": 2, "b": 3}) == CallSucceeded("5")
        assert isinstance(await server.call("refuse", {"why": "no"}), CallFailed)
        assert "heard /mcp Bearer abcdef" in process.stdout.readline()


async def test_a_server_at_an_address_may_be_restarted(opened):
    clock = FrozenClock()
    with web_server() as (url, _):
        server = await ready(opened(clock=clock, web={"url": f"{url}/mcp"}), "web")
        assert isinstance(await server.call("add", {"a": 1, "b": 1}), CallSucceeded)
    port = url.rpartition(":")[2]
    assert isinstance(await server.call("add", {"a": 1, "b": 1}), CallCutOff)
    with pytest.raises(Unavailable):
        await server.call("add", {"a": 1, "b": 1})
    with web_server(port):
        await clock.advance(300)
        assert isinstance(await server.call("add", {"a": 1, "b": 1}), CallSucceeded)


async def test_an_address_that_has_forgotten_us_is_greeted_again_and_called_once(opened):
    async with plain_web() as (web, url):
        server = await ready(opened(web={"url": url}), "web")
        assert server.status.protocol == "2025-03-26"
        assert await server.call("count", {}) == CallSucceeded("1")

        web.known.clear()

        assert await server.call("count", {}) == CallSucceeded("2")
        assert (web.greeted, web.counted) == (2, 2)
        assert web.known == {"2"}
        await server.close()
        assert web.known == set()


async def test_headers_do_not_follow_a_redirect_to_somebody_else(opened):
    with web_server() as (other, process), web_server("0", f"{other}/mcp") as (url, _):
        web = {"url": f"{url}/elsewhere", "headers": {"Authorization": "Bearer abcdef"}}
        server = opened(web=web).named("web")
        await server.tools(patience=LONG)

        assert server.status.state is McpServerState.FAILED
        process.terminate()
        assert process.stdout.read() == ""


async def test_an_answer_at_an_address_has_a_largest_size(opened):
    with web_server() as (url, _):
        server = opened(web={"url": f"{url}/flood"}).named("web")
        await server.tools(patience=LONG)

        assert server.status.state is McpServerState.FAILED
