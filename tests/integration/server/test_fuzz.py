"""Whatever is thrown at a socket, it answers with an error and stays."""

import json
import socket
import string
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.server.serving import served
from tests.integration.server.windows import window
from websockets.exceptions import ConnectionClosed

from long_running_agents.errors import UsageError
from long_running_agents.server.ws import read_frame

pytestmark = pytest.mark.anyio

_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
_TYPES = st.sampled_from(
    [
        "message",
        "set_mode",
        "clear",
        "ping",
        "stop",
        "retry",
        "approval_response",
        "resume",
        "",
        "x",
    ]
)
_FIELDS = st.sampled_from(
    ["content", "mode", "model", "key", "approval_id", "allowed", "reason", "lasting", "after"]
)
_FRAMES = st.one_of(
    st.builds(
        lambda kind, fields: json.dumps({"type": kind, **fields}),
        _TYPES,
        st.dictionaries(_FIELDS, _VALUES, max_size=5),
    ),
    _VALUES.map(json.dumps),
    st.text(string.printable, max_size=60),
)


@given(_FRAMES)
def test_a_frame_is_understood_or_refused(frame):
    with suppress(UsageError):
        assert read_frame(frame).type in frame


async def test_a_thousand_frames_leave_the_server_up(tmp_path):
    @given(st.lists(_FRAMES, min_size=1000, max_size=1000))
    @settings(
        max_examples=1,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def collect(drawn):
        frames.extend(drawn)

    frames: list[str] = []
    collect()
    quiet = [frame for frame in frames if '"message"' not in frame][:1000]
    async with (
        served(tmp_path) as (_, client),
        window(client.base_url, "/ws/talk") as socket,
    ):
        for frame in quiet:
            await socket.raw(frame.encode("utf-8", "replace").decode())
            await socket.send("ping")
            await socket.until("pong")
        assert (await client.get("/health")).status_code == 200


async def test_a_huge_frame_ends_the_socket_and_nothing_else(tmp_path):
    async with served(tmp_path) as (_, client):
        async with window(client.base_url, "/ws/talk") as socket:
            await socket.raw("x" * (17 << 20))
            with pytest.raises(ConnectionClosed, match="1009"):
                await socket.until("nothing")
        async with window(client.base_url, "/ws/talk") as socket:
            await socket.send("ping")
            await socket.until("pong")


async def test_a_client_that_asks_and_never_reads_is_sent_away(tmp_path):
    async with served(tmp_path) as (_, client):
        with small(client.base_url) as line:
            async with window(client.base_url, "/ws/talk", max_queue=1, sock=line) as ours:
                with pytest.raises(ConnectionClosed):
                    await flood(ours, json.dumps({"type": "dance" * 400}))
        assert (await client.get("/health")).status_code == 200


def small(address):
    """A connection on which little waits to be read: otherwise it takes gigabytes to fill it."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect((address.host, address.port))
    return line


async def flood(socket, frame):
    while True:
        await socket.raw(frame)
