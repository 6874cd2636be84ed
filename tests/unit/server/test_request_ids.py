"""A name for every request."""

import pytest

from long_running_agents.observe import logs
from long_running_agents.server.connections import RequestIds, accepted

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("given", ["a", "req_1", "0a1b2c3d-4e5f", "A.b", "x" * 64])
def test_a_short_and_harmless_name_is_kept(given):
    assert accepted(given) == given


@pytest.mark.parametrize("given", [None, "", "x" * 65, "a b", "a\n", "a\r\nX: y", "<b>", "ä"])
def test_any_other_name_is_replaced_by_a_new_one(given):
    new = accepted(given)
    assert new != given
    assert new != accepted(given)
    assert accepted(new) == new


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_the_name_is_known_inside_and_told_outside(kind):
    start = {"http": "http.response.start", "websocket": "websocket.accept"}[kind]
    known, sent = [], []

    async def app(scope, receive, send):
        known.append(logs.current().request_id)
        await send({"type": start})
        await send({"type": "anything.else"})

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "headers": [(b"x-request-id", b"mine")]}
    await RequestIds(app)(scope, None, send)
    assert known == ["mine"]
    assert sent == [
        {"type": start, "headers": [(b"x-request-id", b"mine")]},
        {"type": "anything.else"},
    ]
    assert logs.current().request_id == ""
