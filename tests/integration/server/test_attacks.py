"""What has been done to other agents' servers, done to this one. The numbers are the cases'.

1 a page of another site; 2 a change without a token; 3 any token at all; 4 a scope of one's own
choice; 5 a credential that was taken back; 6 too much before anybody is known; 7 an identity in a
header; 8 secrets in addresses, and what is no secret; 9 and 17 doing more than one may; 18 one
guard for all ways in; 19 and 20 being open to everybody.
"""

import json

import pytest
import websockets
from tests.integration.server.doors import bearer, house, knock
from websockets.exceptions import ConnectionClosed, InvalidStatus

from long_running_agents.config.settings import GatewaySettings
from long_running_agents.domain.auth import TokenScope, new_secret

pytestmark = pytest.mark.anyio

EVIL = "http://evil.example"
WAYS = ("/api/status", "/api/tokens", "/openapi.json", "/v1/models", "/mcp", "/echo", "/nothing")
"""Ways in, some of which may not be there: the guard comes before."""


async def socket_status(there, **options):
    """The status that an upgrade is refused with; 101 if it is not."""
    try:
        async with websockets.connect(there.socket_address, **options):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


# 1


async def test_case_1_pages_of_other_sites_reach_neither_http_nor_sockets(tmp_path):
    async with house(tmp_path) as there:
        for origin in (EVIL, "null", "http://127.0.0.1:1", "https://127.0.0.1", "http://localhost"):
            for method in ("GET", "POST", "DELETE", "OPTIONS"):
                answer = await there.client.request(
                    method, "/api/tokens", headers={"Origin": origin}
                )
                assert (answer.status_code, answer.json()["code"]) == (403, "denied"), origin
                assert "access-control-allow-origin" not in answer.headers
            assert await socket_status(there, origin=origin) == 403
        assert await socket_status(there, origin=there.address) == 101
        assert await socket_status(there) == 101


async def test_case_1_pages_cannot_make_us_a_part_of_theirs(tmp_path):
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    async with house(tmp_path) as there:
        refused = await there.client.get("/api/status", headers=embedded)
        shown = await there.client.get("/api/status")
    assert refused.status_code == 403
    assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
    assert shown.headers["cross-origin-resource-policy"] == "same-origin"


async def test_case_1_no_name_of_somebody_else_leads_here(tmp_path):
    async with house(tmp_path) as there:
        port = there.address.rpartition(":")[2]
        for host in ("evil.example", f"evil.example:{port}", "0.0.0.0", "127.0.0.1.evil.example"):
            answer = await there.client.get("/health", headers={"Host": host})
            assert (answer.status_code, answer.json()["code"]) == (421, "misdirected"), host
            assert await socket_status(there, additional_headers={"Host": host}) in (400, 421)
        good = await there.client.get("/health", headers={"Host": f"localhost:{port}"})
    assert good.status_code == 200


# 2, 18


async def test_case_2_and_18_nothing_is_done_for_nobody_whatever_the_way_in(tmp_path):
    async with house(tmp_path, require_token=True) as there:
        for path in WAYS:
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                answer = await there.client.request(method, path, json={"name": "x"})
                assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), path
                assert answer.headers["www-authenticate"] == "Bearer"
        assert await socket_status(there) == 401
        assert await there.door.tokens.every() == []
        assert (await there.client.get("/health")).status_code == 200


# 3, 8


async def test_case_3_and_8_a_token_is_good_or_nothing_even_on_this_machine(tmp_path):
    texts = [
        "undefined", "null", "", "x", "Bearer", "[object Object]", "lra_", "lra_" + "A" * 43,
        new_secret(), "' OR 1=1 --", "0",
    ]  # fmt: skip
    async with house(tmp_path) as there:
        for text in texts:
            answer = await there.client.get("/api/status", headers=bearer(text))
            assert answer.status_code == 401, text
        for text in texts[:4]:
            cookie = await there.client.get("/api/status", headers={"Cookie": f"lra_token={text}"})
            upgrade = await socket_status(there, additional_headers=bearer(text))
            assert (cookie.status_code, upgrade) == (401, 401), text
        assert (await there.client.get("/api/status")).status_code == 200


async def test_case_8_a_secret_in_the_address_is_refused_also_a_good_one(tmp_path):
    async with house(tmp_path) as there:
        _, secret = await there.token()
        for name in ("token", "api_key", "access_token", "Token", "%74oken", "q"):
            answer = await there.client.get(f"/api/status?{name}={secret}")
            both = await there.client.get(f"/api/status?{name}={secret}", headers=bearer(secret))
            with pytest.raises(InvalidStatus) as upgrade:
                await websockets.connect(f"{there.socket_address}?{name}={secret}")
            refused = upgrade.value.response
            assert (answer.status_code, both.status_code, refused.status_code) == (400, 400, 400)
            assert answer.json()["code"] == json.loads(refused.body)["code"] == "bad_request"
            assert secret not in answer.text


# 4


async def test_case_4_nobody_gives_themselves_a_scope_or_an_owner(tmp_path):
    async with house(tmp_path, require_token=True) as there:
        _, secret = await there.token(TokenScope.READ, owner="ann")
        claims = {"X-Scopes": "admin", "X-Owner": "me", "Scope": "admin", **bearer(secret)}
        listed = await there.client.get("/api/tokens?scopes=admin&scope=admin", headers=claims)
        made = await there.client.post(
            "/api/tokens", headers=claims, json={"name": "x", "scopes": ["admin"]}
        )
        assert len(await there.door.tokens.every()) == 1
    assert (listed.status_code, made.status_code) == (403, 403)


# 5


async def test_case_5_what_was_taken_back_opens_nothing_and_closes_what_it_opened(tmp_path):
    async with house(tmp_path) as there:
        key, secret = await there.token()
        async with websockets.connect(
            there.socket_address, additional_headers=bearer(secret)
        ) as socket:
            gone = await there.client.delete(f"/api/tokens/{key}")
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert gone.status_code == 200
        assert closed.value.rcvd.code == 4401
        assert await socket_status(there, additional_headers=bearer(secret)) == 401
        again = await there.client.get("/api/status", headers=bearer(secret))
    assert again.status_code == 401


# 6


async def test_case_6_sockets_are_limited_and_the_server_goes_on(tmp_path):
    async with house(tmp_path, max_sockets=3) as there:
        open_ones = [await websockets.connect(there.socket_address) for _ in range(3)]
        assert await socket_status(there) == 503
        assert (await there.client.get("/api/status")).status_code == 200
        await open_ones[0].close()
        for _ in range(100):
            if there.door.connections.sockets < 3:
                break
            await there.client.get("/health")
        assert await socket_status(there) == 101
        for socket in open_ones:
            await socket.close()


async def test_case_6_wrong_tokens_are_slowed_down_and_good_ones_are_not(tmp_path):
    async with house(tmp_path) as there:
        _, secret = await there.token()
        answers = [
            await there.client.get("/api/status", headers=bearer(new_secret())) for _ in range(25)
        ]
        login = await there.client.post("/login", json={"token": new_secret()})
        good = await there.client.get("/api/status", headers=bearer(secret))
        local = await there.client.get("/api/status")
    codes = [answer.status_code for answer in answers]
    assert codes == [401] * 20 + [429] * 5
    assert int(answers[-1].headers["retry-after"]) > 0
    assert (login.status_code, good.status_code, local.status_code) == (429, 200, 200)


async def test_case_6_another_machine_may_not_ask_without_end(tmp_path):
    async with house(tmp_path, requests_per_minute=60) as there:
        asgi = there.asgi
        codes = [(await knock(asgi, path="/health"))["status"] for _ in range(12)]
        other = await knock(asgi, path="/health", client="203.0.113.10")
        local = [(await there.client.get("/health")).status_code for _ in range(50)]
    assert codes == [200] * 10 + [429] * 2
    assert other["status"] == 200
    assert set(local) == {200}


# 7


async def test_case_7_no_header_says_who_or_where_somebody_is(tmp_path):
    names = [
        "X-Forwarded-For", "X-Real-IP", "Forwarded", "X-User", "X-Forwarded-User", "Remote-User",
        "X-Auth-Request-Email", "X-Lra-Owner",
    ]  # fmt: skip
    async with house(tmp_path) as there:
        _, secret = await there.token(TokenScope.READ)
        for name in names:
            headers = {name.lower(): "for=127.0.0.1" if name == "Forwarded" else "127.0.0.1"}
            far = await knock(there.asgi, headers=headers)
            socket = await knock(there.asgi, headers=headers, kind="websocket", path="/echo")
            known = await there.client.get("/api/tokens", headers={name: "me", **bearer(secret)})
            assert (far["status"], socket["status"]) == (401, 401), name
            assert known.status_code == 403, name


async def test_case_7_whoever_comes_through_a_proxy_on_this_machine_needs_a_token(tmp_path):
    async with house(tmp_path, allowed_hosts=["agent.example"]) as there:
        _, secret = await there.token()
        for headers in ({"X-Forwarded-For": "127.0.0.1"}, {"Host": "agent.example"}):
            refused = await there.client.get("/api/status", headers=headers)
            known = await there.client.get("/api/status", headers={**headers, **bearer(secret)})
            assert (refused.status_code, known.status_code) == (401, 200)


# 9, 17


async def test_case_9_and_17_making_and_changing_take_the_same_right(tmp_path):
    async with house(tmp_path) as there:
        key, _ = await there.token(owner="ann")
        _, secret = await there.token(TokenScope.READ, TokenScope.CHAT, TokenScope.APPROVE)
        answers = [
            await there.client.request(method, path, headers=bearer(secret), json=body)
            for method, path, body in (
                ("GET", "/api/tokens", None),
                ("POST", "/api/tokens", {"name": "x"}),
                ("POST", f"/api/tokens/{key}/rotate", None),
                ("DELETE", f"/api/tokens/{key}", None),
            )
        ]
        left = await there.door.tokens.every()
    assert [answer.status_code for answer in answers] == [403] * 4
    assert [token.revoked_at for token in left] == [None, None]


# 18


async def test_case_18_a_hundred_megabytes_are_not_taken(tmp_path):
    async def endless():
        for _ in range(100):
            yield b"x" * 1_000_000

    async with house(tmp_path) as there:
        said = await there.client.post("/api/size", content=b"x" * 100_000_000)
        unsaid = await there.client.post("/api/size", content=endless())
        fits = await there.client.post("/api/size", content=b"x" * 9_000_000)
        file = await there.client.post("/api/files/size", content=b"x" * 50_000_000)
    for answer in (said, unsaid):
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert fits.json() == {"size": 9_000_000}
    assert file.json() == {"size": 50_000_000}


async def test_case_18_long_headers_are_not_taken(tmp_path):
    async with house(tmp_path) as there:
        answer = await there.client.get("/health", headers={"X-Long": "x" * 70_000})
    assert answer.status_code in (400, 413, 431)


async def test_case_18_two_of_a_kind_are_one_too_many(tmp_path):
    async with house(tmp_path) as there:
        _, secret = await there.token()
        twice = [("Authorization", f"Bearer {secret}"), ("Authorization", "Bearer x")]
        answer = await there.client.get("/api/status", headers=twice)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


# 19, 20


async def test_case_19_and_20_only_this_machine_is_let_in_without_a_token(tmp_path):
    assert GatewaySettings().host == "127.0.0.1"
    async with house(tmp_path) as there:
        for address in ("203.0.113.9", "192.168.1.7", "10.0.0.1", "2001:db8::1", "::ffff:10.0.0.1"):
            for path in WAYS:
                assert (await knock(there.asgi, client=address, path=path))["status"] == 401
        near = await knock(there.asgi, client="::ffff:127.0.0.1")
    assert near["status"] == 200


async def test_case_19_an_open_bind_lets_nobody_in_without_a_token(tmp_path):
    async with house(tmp_path, host="0.0.0.0") as there:
        _, secret = await there.token()
        assert (await there.client.get("/api/status")).status_code == 401
        assert (await there.client.get("/api/status", headers=bearer(secret))).status_code == 200
        assert await socket_status(there) == 401
