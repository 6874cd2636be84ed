"""What every response says, and to which sites."""

import pytest
from tests.integration.server.doors import house

pytestmark = pytest.mark.anyio

SITE = "https://chat.example"


async def test_every_response_says_what_a_browser_may_do_with_it(tmp_path):
    async with house(tmp_path, require_token=True) as there:
        answers = [
            await there.client.get("/health"),
            await there.client.get("/api/status"),
            await there.client.get("/health", headers={"Host": "evil.example"}),
        ]
    assert [answer.status_code for answer in answers] == [200, 401, 421]
    for answer in answers:
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]


async def test_a_site_that_was_set_may_ask_and_read_and_no_other(tmp_path):
    question = {"Access-Control-Request-Method": "POST"}
    wants = {"Access-Control-Request-Headers": "authorization, content-type"}
    async with house(tmp_path, allowed_origins=[SITE], require_token=True) as there:
        client = there.client
        _, secret = await there.token()
        may = await client.options("/api/tokens", headers={"Origin": SITE, **question, **wants})
        asks = {"Origin": SITE, "Authorization": f"Bearer {secret}"}
        read = await client.get("/api/status", headers=asks)
        refused = await client.get("/api/status", headers={"Origin": SITE})
        other = await client.options(
            "/api/tokens", headers={"Origin": "https://evil.example", **question}
        )
        plain = await client.get("/health")

    assert may.status_code == 204
    assert may.headers["access-control-allow-headers"] == "authorization, content-type"
    for answer in (may, read, refused):
        assert answer.headers["access-control-allow-origin"] == SITE
        assert "access-control-allow-credentials" not in answer.headers
    assert (read.status_code, refused.status_code, other.status_code) == (200, 401, 403)
    for answer in (other, plain):
        assert "access-control-allow-origin" not in answer.headers
    assert read.headers["vary"] == "Origin"
