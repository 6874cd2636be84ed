"""Whatever is sent, it is the sender's mistake in the one shape, and never a bug of ours."""

import asyncio

import pytest
from starlette.exceptions import HTTPException
from tests.integration.server.owners import believing

from long_running_agents.server.http import LARGEST_BODY, JsonRequest

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
BODIES = {
    "NaN": b'{"title": NaN}',
    "a bare NaN": b"NaN",
    "Infinity": b'{"title": Infinity}',
    "-Infinity": b"[-Infinity]",
    "a number without end": b'{"title": 1e9999}',
    "a negative one": b'{"title": -1e9999}',
    "half a character": b'{"title": "\\ud800"}',
    "the other half": b'{"\\udfff": 1}',
    "half a character, nested": b'{"title": [["\\uD834"]]}',
    "many brackets": b"[" * 100_000,
    "many brackets, closed": b"[" * 100_000 + b"]" * 100_000,
    "many objects": b'{"a":' * 100_000,
    "a huge number": b'{"title": ' + b"9" * 100_000 + b"}",
    "a number of 65 bits": b'{"title": 18446744073709551616}',
    "a key twice": b'{"title": "a", "title": "b"}',
    "not UTF-8": b'{"title": "\xff\xfe"}',
    "UTF-16": '{"title": "a"}'.encode("utf-16"),
    "with a mark": b'\xef\xbb\xbf{"title": "a"}',
    "nothing": b"",
    "space": b"   ",
    "a word": b"title",
    "half an object": b'{"title": "a"',
    "two objects": b"{}{}",
    "a comma too many": b'{"title": "a",}',
    "single quotes": b"{'title': 'a'}",
    "a comment": b'{"title": "a"} // x',
    "null": b"null",
    "a list": b"[]",
    "a text": b'"title"',
    "a control character": b'{"title": "a\x00b"}',
    "a NUL in a title": b'{"title": "a\\u0000b"}',
    "an unknown field": b'{"spell": 1}',
    "scopes of one's own": b'{"title": "a", "scopes": ["admin"], "owner": "you"}',
    "a wrong type": b'{"title": {"a": 1}}',
    "a title of a megabyte": b'{"title": "' + b"a" * 1_000_000 + b'"}',
}
OTHER_KINDS = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/xml",
    "text/json",
    "nonsense",
    "application/json2",
    "",
]
TAKING = [
    ("POST", "/api/sessions"),
    ("PATCH", "/api/sessions/s1"),
    ("POST", "/api/models/select"),
    ("PATCH", "/api/sessions/s1/tasks/1"),
    ("POST", "/api/memory"),
    ("PATCH", "/api/memory/1"),
    ("POST", "/api/memory/forget"),
    ("PATCH", "/api/settings"),
    ("PUT", "/api/log-level"),
    ("POST", "/api/approvals/approval_1"),
]


async def test_no_body_is_more_than_its_senders_mistake(tmp_path):
    async with believing(tmp_path) as (app, client):
        ask = client()
        await ask.ok("POST", "/api/sessions", json={"id": "s1", "title": "Herons"})
        for method, path in TAKING:
            for name, body in BODIES.items():
                told = await ask.refused(method, path, content=body, headers=JSON)
                assert told[0] in (400, 422), (path, name, told)
        assert await app.sessions.count() == 1
        assert (await app.sessions.get("s1")).title == "Herons"


async def test_a_body_is_json_and_says_so(tmp_path):
    async with believing(tmp_path) as (_, client):
        for kind in OTHER_KINDS:
            told = await client().refused(
                "POST", "/api/sessions", content=b"{}", headers={"content-type": kind}
            )
            assert told == (415, "unsupported_media_type"), kind
        await client().ok(
            "POST",
            "/api/sessions",
            content=b"{}",
            headers={"content-type": "Application/JSON; charset=utf-8"},
        )


async def test_a_body_without_end_is_not_read_to_its_end():
    read = []

    async def receive():
        read.append(1)
        return {"type": "http.request", "body": b" " * (1 << 20), "more_body": True}

    request = JsonRequest({"type": "http", "headers": []}, receive)
    with pytest.raises(HTTPException) as refused:
        await request.body()
    assert refused.value.status_code == 413
    assert len(read) == (LARGEST_BODY >> 20) + 1


async def test_a_body_that_is_too_long_is_refused(tmp_path):
    async with believing(tmp_path) as (_, client):
        long = b" " * (LARGEST_BODY + 1)
        told = await client().refused("POST", "/api/sessions", content=long, headers=JSON)
        assert told[0] == 413


async def test_a_wrong_field_is_named(tmp_path):
    async with believing(tmp_path) as (_, client):
        answer = await client()("POST", "/api/sessions", json={"mode": "spell"})
    assert answer.status_code == 422
    [field] = answer.json()["fields"]
    assert field["field"] == "body.mode"
    assert "spell" not in answer.text


ODD = [
    "%00", "a%00b", "%ED%A0%80", "%FF", "..", "%2e%2e", "a" * 200, "%0a", "\u00e4", "-x", "'--",
    "a%2fb", "{}", "*", "%25",
]  # fmt: skip
NUMBERS = ["0", "-1", "9223372036854775808", "9" * 400, "1e5", "NaN", "0x1", "1.5", "%00", ""]
NAMED = [
    ("GET", "/api/sessions/{}"),
    ("GET", "/api/sessions/{}/history"),
    ("GET", "/api/sessions/{}/tasks"),
    ("GET", "/api/sessions/{}/export"),
    ("DELETE", "/api/sessions/{}"),
    ("POST", "/api/sessions/{}/fork"),
    ("POST", "/api/sessions/{}/clear"),
    ("DELETE", "/api/grants/{}"),
    ("POST", "/api/memory/undo/{}"),
    ("GET", "/api/approvals?session_id={}"),
    ("GET", "/api/memory?session_id={}"),
    ("GET", "/api/activity?before={}"),
    ("GET", "/api/usage?tz={}"),
]
NUMBERED = [
    ("GET", "/api/memory/{}"),
    ("DELETE", "/api/memory/{}"),
    ("GET", "/api/sessions?limit={}"),
    ("GET", "/api/sessions?offset={}"),
    ("GET", "/api/sessions/s1/history?after={}"),
    ("GET", "/api/activity?limit={}"),
    ("GET", "/api/tasks?offset={}"),
    ("GET", "/api/files?depth={}"),
]


async def test_no_name_and_no_number_is_more_than_its_senders_mistake(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await ask.ok("POST", "/api/sessions", json={"id": "s1"})
        for method, path in NAMED:
            for name in ODD:
                answer = await ask(method, path.format(name))
                # Some of them are another path, which is there.
                assert answer.status_code < 500, (path, name)
                if not answer.is_success:
                    assert answer.json()["type"] == "error"
        for method, path in NUMBERED:
            for number in NUMBERS:
                answer = await ask(method, path.format(number))
                assert answer.status_code < 500, (path, number)
        for path in ("/api/sessions?limit={}", "/api/memory/{}", "/api/sessions?offset={}"):
            assert (await ask.refused("GET", path.format("9223372036854775808")))[0] == 422


async def raw(address, path):
    """The status of a request that no well-behaved client sends."""
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        status = await reader.readline()
    finally:
        writer.close()
    return int(status.split()[1])


async def test_a_query_without_end_is_refused(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        assert (await ask.refused("GET", f"/api/sessions?q={'a' * 5000}"))[0] == 422
        assert (await raw(ask.address, b"/api/sessions?q=" + b"a" * 10_000_000)) in (400, 414, 431)
        await ask.ok("GET", "/api/sessions?q=' OR 1=1 --")
        await ask.ok("GET", "/api/memory?q=" + "%22%27%00(((*")
