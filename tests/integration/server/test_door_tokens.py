"""Tokens: made, shown once, believed by what is stored of them, and taken back."""

import asyncio
from datetime import timedelta

import pytest
import websockets
from tests.integration.server.doors import bearer, house
from websockets.exceptions import ConnectionClosed, InvalidStatus

from long_running_agents.domain.auth import TokenScope
from long_running_agents.store import decisions
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


async def status(there, secret, path="/api/status"):
    return (await there.client.get(path, headers=bearer(secret))).status_code


async def test_a_token_is_made_over_http_and_kept_as_a_digest_only(tmp_path):
    async with house(tmp_path) as there:
        made = await there.client.post(
            "/api/tokens", json={"name": "phone", "owner": "ann", "scopes": ["read"]}
        )
        listed = (await there.client.get("/api/tokens")).json()["tokens"]
        secret = made.json()["secret"]
        assert await status(there, secret) == 200
        noted = await there.app.database.read(decisions.newest_admin)

    assert made.status_code == 201
    assert [(each["name"], each["owner"], each["scopes"]) for each in listed] == [
        ("phone", "ann", ["read"])
    ]
    assert "secret" not in listed[0]
    assert (noted[0].action, noted[0].actor, noted[0].subject) == (
        "token.create", "me", made.json()["id"],
    )  # fmt: skip
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


async def test_a_token_reaches_as_far_as_its_scopes_and_owner(tmp_path):
    async with house(tmp_path) as there:
        _, reading = await there.token(TokenScope.READ)
        _, chatting = await there.token(TokenScope.CHAT)
        refused = await there.client.get("/api/status", headers=bearer(chatting))
        tokens = await there.client.get("/api/tokens", headers=bearer(reading))
        made = await there.client.post(
            "/api/tokens", headers=bearer(reading), json={"name": "x", "scopes": ["admin"]}
        )

    assert (refused.status_code, refused.json()["code"]) == (403, "denied")
    assert "--scope read" in refused.json()["hint"]
    assert (tokens.status_code, made.status_code) == (403, 403)


async def test_a_bad_wish_is_refused_with_the_field(tmp_path):
    async with house(tmp_path) as there:
        answers = [
            await there.client.post("/api/tokens", json=body)
            for body in (
                {},
                {"name": ""},
                {"name": "a\nb"},
                {"name": "x", "scopes": []},
                {"name": "x", "scopes": ["root"]},
                {"name": "x", "expires_at": "2001-01-01T00:00:00Z"},
                {"name": "x", "id": "token_mine"},
            )
        ]
        missing = await there.client.delete("/api/tokens/token_x")

    assert [answer.status_code for answer in answers] == [422, 422, 400, 422, 422, 400, 422]
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


async def test_revoking_and_rotating_hold_at_once(tmp_path):
    async with house(tmp_path) as there:
        key, secret = await there.token()
        assert await status(there, secret) == 200
        rotated = await there.client.post(f"/api/tokens/{key}/rotate", headers=bearer(secret))
        newer = rotated.json()["secret"]
        assert (await status(there, secret), await status(there, newer)) == (401, 200)
        revoked = await there.client.delete(f"/api/tokens/{key}", headers=bearer(newer))
        assert revoked.json()["revoked_at"]
        assert await status(there, newer) == 401
        again = await there.client.delete(f"/api/tokens/{key}")
        rotated_again = await there.client.post(f"/api/tokens/{key}/rotate")

    assert (again.status_code, rotated_again.status_code) == (409, 409)


async def test_use_is_written_down_at_most_once_a_minute(tmp_path):
    clock = FrozenClock()
    async with house(tmp_path, clock) as there:
        _, secret = await there.token()
        seen = []
        for _ in range(4):
            await status(there, secret)
            seen.append((await there.door.tokens.every())[0].used_at - clock.now())
            await clock.advance(25)

    assert [round(each.total_seconds()) for each in seen] == [0, -25, -50, 0]


@pytest.mark.parametrize("change", ["revoke", "rotate"])
async def test_open_sockets_and_streams_of_a_token_end_with_it(tmp_path, change):
    async with house(tmp_path) as there:
        key, secret = await there.token()
        _, other = await there.token()
        where = there.socket_address
        async with (
            websockets.connect(where, additional_headers=bearer(secret)) as gone,
            websockets.connect(where, additional_headers=bearer(other)) as stays,
            websockets.connect(where) as local,
            there.client.stream("GET", "/api/stream", headers=bearer(secret)) as stream,
        ):
            pieces = stream.aiter_bytes()
            assert await anext(pieces)
            await getattr(there.door.tokens, change)(key, by="test")
            with pytest.raises(ConnectionClosed) as closed:
                await gone.recv()
            with pytest.raises(Exception, match=r"incomplete|closed"):
                await anext(pieces)
            for socket in (stays, local):
                await socket.send("still")
                assert await socket.recv() == "still"
        with pytest.raises(InvalidStatus) as refused:
            await websockets.connect(where, additional_headers=bearer(secret))

    assert closed.value.rcvd.code == 4401
    assert refused.value.response.status_code == 401


async def test_a_token_that_expires_closes_its_socket(tmp_path):
    clock = FrozenClock()
    async with house(tmp_path, clock) as there:
        _, secret = await there.token(expires_at=clock.now() + timedelta(minutes=5))
        async with websockets.connect(
            there.socket_address, additional_headers=bearer(secret)
        ) as socket:
            await socket.send("hello")
            assert await socket.recv() == "hello"
            await clock.advance(299)
            await socket.send("again")
            assert await socket.recv() == "again"
            await clock.advance(1)
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd.code == 4401
        assert await status(there, secret) == 401


async def test_tokens_made_at_the_same_time_as_the_first_is_looked_up_are_known(tmp_path):
    async with house(tmp_path) as there:
        issued = await asyncio.gather(*(there.token() for _ in range(5)), status(there, "x" * 47))
        assert [await status(there, secret) for _, secret in issued[:5]] == [200] * 5


async def test_a_browser_comes_in_by_a_cookie_that_scripts_cannot_read(tmp_path):
    async with house(tmp_path, require_token=True) as there:
        _, secret = await there.token()
        client = there.client
        assert (await client.get("/api/status")).status_code == 401
        wrong = await client.post("/login", json={"token": "undefined"})
        into = await client.post(
            "/login", json={"token": secret}, headers={"Origin": there.address}
        )
        cookie = into.headers["set-cookie"]
        inside = await client.get("/api/status")
        origin = {"Cookie": f"lra_token={secret}", "Origin": there.address}
        async with websockets.connect(there.socket_address, additional_headers=origin) as socket:
            await socket.send("hello")
            assert await socket.recv() == "hello"
        out = await client.post("/logout")
        outside = await client.get("/api/status")

    assert (wrong.status_code, into.status_code, inside.status_code) == (401, 204, 200)
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "Secure" not in cookie
    assert (out.status_code, outside.status_code) == (204, 401)


async def test_behind_tls_the_cookie_stays_there(tmp_path):
    async with house(tmp_path, allowed_origins=["https://agent.example"]) as there:
        _, secret = await there.token()
        into = await there.client.post(
            "/login", json={"token": secret}, headers={"Origin": "https://agent.example"}
        )
    assert "Secure" in into.headers["set-cookie"]


async def test_a_cookie_that_is_worth_nothing_is_taken_back(tmp_path):
    async with house(tmp_path) as there:
        refused = await there.client.get("/api/status", headers={"Cookie": "lra_token=old"})
    assert refused.status_code == 401
    assert refused.headers["set-cookie"].startswith("lra_token=; Max-Age=0")


async def test_a_program_may_bring_its_token_as_a_protocol(tmp_path):
    async with house(tmp_path, require_token=True) as there:
        _, secret = await there.token()
        offered = ["lra", f"lra.token.{secret}"]
        async with websockets.connect(there.socket_address, subprotocols=offered) as socket:
            await socket.send("hello")
            assert await socket.recv() == "hello"
            assert socket.subprotocol == "lra"
        with pytest.raises(InvalidStatus):
            await websockets.connect(there.socket_address, subprotocols=["lra", "lra.token.x"])
