"""A server that is told to stop, and connections that say nothing."""

import asyncio
import json
import socket
import stat
from contextlib import asynccontextmanager

import httpx2
import pytest
import uvicorn
import websockets
from tests.integration.server.doors import bearer, furnished
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from websockets.exceptions import ConnectionClosed

from long_running_agents.clock import SystemClock
from long_running_agents.home import Home
from long_running_agents.net import listen
from long_running_agents.server import server_file
from long_running_agents.server.serve import SlowClients, _server, _until, serve
from long_running_agents.testing import make_app

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def serving(home, **settings):
    """Serve a home as `lra serve` does; yields the address."""
    stop, told = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with make_app(home, **settings) as app:
        listener = listen.listening("127.0.0.1", 0)
        task = asyncio.create_task(
            serve(app, SystemClock(), listener, stop, told.set_result, make=furnished)
        )
        try:
            yield await told
        finally:
            stop.set()
            await task


async def test_a_server_that_stops_ends_sockets_and_streams_that_never_end(tmp_path):
    stop, listener = asyncio.Event(), listen.listening("127.0.0.1", 0)
    async with make_app(tmp_path) as app, asyncio.TaskGroup() as group:
        server = _server(app, SystemClock(), "secret", furnished)
        # It would wait for ever for what does not end by itself.
        server.config.timeout_graceful_shutdown = None
        group.create_task(_until(stop, server, listener))
        address = listen.address_of("127.0.0.1", listener)
        await _stopped(address, stop)


async def _stopped(address, stop):
    async with (
        websockets.connect(f"{address.replace('http', 'ws')}/echo") as open_socket,
        httpx2.AsyncClient(base_url=address, trust_env=False, timeout=300) as client,
        client.stream("GET", "/api/stream") as stream,
    ):
        pieces = stream.aiter_bytes()
        assert await anext(pieces)
        stop.set()
        with pytest.raises(ConnectionClosed) as closed:
            await open_socket.recv()
        with pytest.raises(httpx2.RemoteProtocolError):
            await anext(pieces)

    assert closed.value.rcvd.code == 1012


async def test_a_running_server_says_in_the_home_where_it_is(tmp_path):
    home = Home(tmp_path)
    async with serving(tmp_path, gateway__require_token=True) as address:
        found = server_file.running(home)
        mode = stat.S_IMODE(home.server.stat().st_mode)
        async with httpx2.AsyncClient(base_url=address, trust_env=False, timeout=300) as client:
            let_in = await client.get("/api/tokens", headers=bearer(found.secret))
            refused = await client.get("/api/tokens")
            login = await client.post("/login", json={"token": found.secret})
        kept = home.server.read_text()

    assert (found.address, mode) == (address, 0o600)
    assert (let_in.status_code, refused.status_code, login.status_code) == (200, 401, 401)
    assert not home.server.exists()
    # What a server leaves that could not clean up counts for nothing.
    home.server.write_text(kept)
    assert server_file.running(home) is None
    with home.owned():
        assert server_file.running(home) is not None
        home.server.write_text(json.dumps({**json.loads(kept), "pid": 1}))
        assert server_file.running(home) is None
        home.server.write_text("{")
        assert server_file.running(home) is None


@pytest.fixture(params=[H11Protocol, HttpToolsProtocol], ids=["h11", "httptools"])
def inner(request):
    """Both protocols of uvicorn: which one is used depends on what is installed."""
    return request.param


@asynccontextmanager
async def waiting(inner, most, patience=10.0):
    """A room before an application that answers at once; yields its port."""

    async def answering(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})

    room = SlowClients(most, patience, inner)
    server = uvicorn.Server(listen.configured(answering, {"http": room.protocol}))
    with listen.listening("127.0.0.1", 0) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await task


async def connected(port):
    return await asyncio.open_connection("127.0.0.1", port)


async def leave(*pairs):
    for _, writer in pairs:
        writer.close()
    await asyncio.gather(*(writer.wait_closed() for _, writer in pairs), return_exceptions=True)


async def ended(reader):
    """What came until the other side closed the line."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def test_whoever_says_nothing_makes_room_for_whoever_does(inner):
    async with waiting(inner, most=5) as port:
        idle = [await connected(port) for _ in range(20)]
        talking = await connected(port)
        talking[1].write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        heard = await ended(talking[0])
        # Those that came first had to go.
        assert [await ended(reader) for reader, _ in idle[:15]] == [b""] * 15
        await leave(*idle, talking)

    assert b"hello" in heard


async def test_whoever_says_nothing_for_too_long_has_to_leave(inner):
    async with waiting(inner, most=5, patience=0.05) as port:
        silent, slow = await connected(port), await connected(port)
        slow[1].write(b"GET / HTTP/1.1\r\nHost:")
        assert await ended(silent[0]) == b""
        assert await ended(slow[0]) == b""
        await leave(silent, slow)


async def test_headers_without_end_are_cut_off(inner):
    async with waiting(inner, most=5) as port:
        pair = await connected(port)
        pair[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        for number in range(200):
            pair[1].write(b"x-%d: %s\r\n" % (number, b"y" * 1000))
        heard = await ended(pair[0])
        await leave(pair)

    assert heard == b"" or heard.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


async def test_a_kept_connection_is_used_again(inner):
    async with waiting(inner, most=5) as port:
        pair = await connected(port)
        for _ in range(3):
            pair[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await pair[0].readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert await pair[0].readuntil(b"hello")
            rest = await pair[0].readuntil(b"0\r\n\r\n")
            assert rest
        await leave(pair)


def test_a_port_that_is_taken_is_said_at_once():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(listen.Unavailable, match=str(port)) as refused:
            listen.listening("127.0.0.1", port)
    assert refused.value.exit_code == 75
