"""The way out of a sandbox: none, or through the proxy to what is allowed."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from long_running_agents.clock import SystemClock
from long_running_agents.net.addresses import is_public
from long_running_agents.net.proxy import EgressProxy
from long_running_agents.sandbox.base import SandboxSpec
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend

pytestmark = pytest.mark.anyio

FETCH = """
import urllib.error, urllib.request
def fetch(url, data=None):
    try:
        body = None if data is None else data.encode()
        with urllib.request.urlopen(url, data=body, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.reason}"
    except OSError as error:
        return f"{type(error).__name__} {error}"
"""


class Site:
    """A web server of the test's own, which keeps what it was asked."""

    def __init__(self, answer=b"hello"):
        self.asked = []
        self.answer = answer

    async def serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"length" in line),
            0,
        )
        self.asked.append(head + await reader.readexactly(length))
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(self.answer), self.answer)
        )
        writer.close()


@asynccontextmanager
async def site():
    """A site on loopback, and its port."""
    served = Site()
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    async with server:
        yield served, server.sockets[0].getsockname()[1]


@asynccontextmanager
async def proxied(tmp_path, allowed, resolve, public=lambda _: True):
    """A proxy, and a way to speak to it as a client would."""
    proxy = EgressProxy(allowed, tmp_path / "proxy.sock", resolve=resolve, public=public)
    await proxy.open()

    async def say(request):
        reader, writer = await asyncio.open_unix_connection(proxy.path)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        return answer.decode()

    yield proxy, say
    await proxy.close()


async def loopback(host, port):
    return ["127.0.0.1"]


async def test_a_sandbox_has_no_network_by_default():
    sandbox = await BubblewrapBackend(SystemClock()).create(SandboxSpec())
    async with site() as (served, port):
        found = await sandbox.call(FETCH, "fetch", {"url": f"http://127.0.0.1:{port}/"})
        named = await sandbox.call(FETCH, "fetch", {"url": "http://example.org/"})
    await sandbox.destroy()

    assert "refused" in found.value
    assert "Temporary failure in name resolution" in named.value or "not known" in named.value
    assert served.asked == []


async def test_code_gets_through_to_what_is_allowed_and_reads_why_it_does_not():
    async with site() as (served, port):
        spec = SandboxSpec(network=(f"allowed.example:{port}",))
        sandbox = await BubblewrapBackend(SystemClock()).create(spec)
        # Only this test may: its site is on loopback, under a name nobody can look up.
        sandbox.room.proxy._resolve, sandbox.room.proxy._public = loopback, lambda _: True
        url = f"http://allowed.example:{port}/page?q=1"
        found = await sandbox.call(FETCH, "fetch", {"url": url, "data": "a=b"})
        other = await sandbox.call(FETCH, "fetch", {"url": "http://other.example/"})
        tunnel = await sandbox.call(FETCH, "fetch", {"url": "https://other.example/"})
        direct = await sandbox.shell(f"exec 3<>/dev/tcp/127.0.0.1/{port}")
        await sandbox.destroy()

    assert found.value == "hello"
    [asked] = served.asked
    assert asked.startswith(b"POST /page?q=1 HTTP/1.1\r\nHost: allowed.example:%d\r\n" % port)
    assert asked.endswith(b"a=b")
    for refused in (other.value, tunnel.value):
        assert "other.example" in refused
        assert "not on the sandbox's allow-list" in refused
    assert not direct.success


async def test_the_way_out_is_not_taken_for_a_process_that_hides_its_memory():
    spec = SandboxSpec(network=("allowed.example",))
    sandbox = await BubblewrapBackend(SystemClock(), use_cgroup=False).create(spec)
    # Longer than the memory is watched without a result.
    found = await sandbox.shell("sleep 1; echo done")
    await sandbox.destroy()

    assert found.stdout == "done\n"


@pytest.mark.parametrize(
    "head",
    [
        b"GET http://allowed.example/ HTTP/1.1\r\nX: a\nHost: other.example",
        b"GET\nHost:other.example http://allowed.example/ HTTP/1.1",
    ],
    ids=["in a header", "in the first line"],
)
async def test_a_header_cannot_be_smuggled_in(tmp_path, head):
    async with proxied(tmp_path, ["allowed.example"], loopback) as (_, say):
        answer = await say(head + b"\r\n\r\n")

    assert answer.startswith("HTTP/1.1 403 the request cannot be read")


async def test_a_sandbox_cannot_use_up_the_descriptors_of_the_host(tmp_path):
    async with proxied(tmp_path, ["allowed.example"], loopback) as (proxy, say):
        held = [await asyncio.open_unix_connection(proxy.path) for _ in range(64)]
        refused = await say(b"")
        for _, writer in held:
            writer.close()

    assert refused.startswith("HTTP/1.1 503 there are too many connections")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("CONNECT other.example:443", "other.example:443 is not on the sandbox's allow-list"),
        ("CONNECT allowed.example:22", "allowed.example:22 is not on the sandbox's allow-list"),
        ("CONNECT 93.184.215.14:443", "93.184.215.14:443 is not on the sandbox's allow-list"),
        ("GET http://allowed.example@other.example/", "without credentials"),
        ("GET http://allowed.example.other.example/", "not on the sandbox's allow-list"),
        ("GET /etc/passwd", "only http:// URLs"),
        ("GET ftp://allowed.example/", "only http:// URLs"),
        ("CONNECT nonsense", "cannot be read"),
    ],
)
async def test_a_refusal_says_why(tmp_path, target, why):
    async with proxied(tmp_path, ["allowed.example"], loopback) as (_, say):
        answer = await say(f"{target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    assert answer.startswith("HTTP/1.1 403 ")
    assert why in answer.split("\r\n")[0]


@pytest.mark.parametrize("target", ["127.0.0.1", "[::1]", "2130706433", "localhost", "10.0.0.1"])
async def test_private_addresses_are_refused_even_if_somebody_allows_them(tmp_path, target):
    async with (
        site() as (served, port),
        proxied(tmp_path, [f"{target}:{port}"], None, is_public) as (_, say),
    ):
        answer = await say(f"CONNECT {target}:{port} HTTP/1.1\r\n\r\n".encode())

    assert answer.startswith("HTTP/1.1 403 ")
    assert served.asked == []


async def test_an_allowed_name_that_leads_inside_is_refused(tmp_path):
    async with (
        site() as (served, port),
        proxied(tmp_path, [f"rebind.example:{port}"], loopback, is_public) as (_, say),
    ):
        answer = await say(f"CONNECT rebind.example:{port} HTTP/1.1\r\n\r\n".encode())

    assert "not of the open internet" in answer
    assert served.asked == []


async def test_a_name_is_looked_up_once_and_cannot_change_its_mind(tmp_path):
    looks = []

    async def rebinding(host, port):
        looks.append(host)
        return ["127.0.0.1"] if len(looks) == 1 else ["10.0.0.1"]

    async with (
        site() as (_, port),
        proxied(tmp_path, [f"a.example:{port}"], rebinding) as (_, say),
    ):
        answer = await say(f"GET http://a.example:{port}/ HTTP/1.1\r\n\r\n".encode())

    assert answer.endswith("hello")
    assert looks == ["a.example"]


async def test_a_request_says_nothing_to_another_host_than_the_one_asked_for(tmp_path):
    async with (
        site() as (served, port),
        proxied(tmp_path, [f"a.example:{port}"], loopback) as (_, say),
    ):
        await say(
            f"GET http://a.example:{port}/ HTTP/1.1\r\nHost: b.example\r\nProxy-Authorization: k"
            "\r\nX-Own: 1\r\n\r\nGET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n".encode()
        )

    [asked] = served.asked
    assert b"b.example" not in asked
    assert b"proxy-authorization" not in asked.lower()
    assert b"x-own: 1" in asked


async def test_what_passes_is_counted(tmp_path):
    async with (
        site() as (_, port),
        proxied(tmp_path, [f"a.example:{port}"], loopback) as (proxy, say),
    ):
        await say(
            f"POST http://a.example:{port}/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".encode()
        )
        await say(b"CONNECT b.example:443 HTTP/1.1\r\n\r\n")
        passed, refused = proxy.passages

    assert (passed.host, passed.port, passed.refused) == ("a.example", port, "")
    assert passed.sent == 3
    assert passed.received > 5
    assert refused.host == "b.example"
    assert "allow-list" in refused.refused


async def test_a_site_that_is_down_is_told_from_one_that_is_refused(tmp_path):
    async with site() as (_, port):
        pass
    async with proxied(tmp_path, [f"a.example:{port}"], loopback) as (_, say):
        answer = await say(f"GET http://a.example:{port}/ HTTP/1.1\r\n\r\n".encode())

    assert answer.startswith("HTTP/1.1 502 a.example cannot be reached")
