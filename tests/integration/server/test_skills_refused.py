"""Skills over HTTP that nobody can have meant: each is answered, and none breaks the server."""

import pytest
from tests.integration.server.owners import believing
from tests.integration.server.skills import SHOUT, made, new

pytestmark = pytest.mark.anyio

NOTHING = '''def f(x: int) -> float:
    """Return no number.

    >>> f(x=1)
    nan
    """
    return float("nan")
'''


@pytest.mark.parametrize(
    "source",
    [
        "\x00",
        "x = " + "(" * 5000,
        "x = " + "-" * 5000 + "1",
        "def f(x: " + "list[" * 300 + "int" + "]" * 300 + ') -> int:\n    """F."""\n    return 1\n',
        "def f(x: int = " + "[" * 60 + "]" * 60 + ') -> int:\n    """F."""\n    return 1\n',
        NOTHING,
        "def f(x: int) -> str:\n    '''F.'''\n    return chr(0xD800)\n",
        "def f(x: int) -> str:\n    '''F.'''\n    raise ValueError(chr(0xD800))\n",
        "def f(x: str = '\\ud800') -> str:\n    '''F \\ud800.'''\n    return x\n",
        "# -*- coding: utf-7 -*-\n+AAA-",
        "lambda: 0",
        "\ufeffx",
    ],
    ids=range(12),
)
async def test_whatever_is_called_a_skill_the_server_answers(tmp_path, source):
    async with believing(tmp_path) as (_, client):
        ask = client()
        for path, accepted in (("/review", {200}), ("", {201, 422}), ("/import", {201, 400, 422})):
            answer = await ask("POST", f"/api/skills{path}", json={"source": source})
            assert answer.status_code in accepted, answer.text
        for each in (await ask.ok("GET", "/api/skills"))["skills"]:
            await ask.ok("GET", f"/api/skills/{each['name']}/versions")


async def test_requests_that_make_no_sense_are_refused_before_anything_is_done(tmp_path):
    deep = []
    for _ in range(200):
        deep = [deep]
    async with believing(tmp_path) as (_, client):
        ask = client()
        await made(ask, SHOUT)
        for method, path, options in (
            ("POST", "/shout/run", {"json": {"args": {"text": deep}}}),
            ("POST", "/shout/run", {"json": {"args": ["hi"]}}),
            ("POST", "/shout/run", {"json": {}}),
            # Whoever approves says what they have seen.
            ("POST", "/shout/approve", {"json": {}}),
            ("POST", "/shout/approve", {"json": {"version": None}}),
            ("POST", "/shout/approve", {"json": {"version": 0}}),
            ("POST", "/shout/approve", {"json": {"version": 2**60}}),
            ("POST", "/shout/approve", {"json": {"by": "somebody else"}}),
            ("POST", "/shout/disable", {"json": {"note": "x" * 2000}}),
            ("POST", "", new("")),
            ("POST", "", new("x" * 300_000)),
            ("POST", "", new(SHOUT, timeout=0)),
            ("POST", "", new(SHOUT, timeout=100_000)),
            ("POST", "", new(SHOUT, memory=1)),
            ("POST", "", new(SHOUT, owner="you")),
            ("POST", "", new(SHOUT, examples=[{"args": {"text": deep}}])),
            ("GET", "/Shout", {}),
            ("GET", "/..%5Cshout", {}),
            ("GET", "/shout/diff?old=1", {}),
            ("GET", "/shout/versions/0", {}),
            ("GET", "/shout/versions?limit=1000", {}),
            ("GET", "/export?name=../shout", {}),
        ):
            answer = await ask(method, f"/api/skills{path}", **options)
            assert (answer.status_code, answer.json()["code"]) == (422, "bad_request"), path
        assert (await ask.ok("GET", "/api/skills"))["total"] == 1
