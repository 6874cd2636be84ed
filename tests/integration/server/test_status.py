"""Health and status."""

import pytest
from tests.integration.server.serving import served

pytestmark = pytest.mark.anyio


async def test_a_server_says_that_it_is_there(tmp_path):
    async with served(tmp_path) as (_, client):
        assert (await client.get("/health")).json() == {"status": "ok"}
        status = (await client.get("/api/status")).json()
    assert (status["status"], status["sessions"], status["busy"]) == ("ok", 0, 0)


async def test_what_is_not_there_is_said_in_the_one_shape(tmp_path):
    async with served(tmp_path) as (_, client):
        missing = await client.get("/api/nothing")
        wrong = await client.delete("/api/status")
    assert (missing.status_code, wrong.status_code) == (404, 405)
    assert missing.json() == {
        "type": "error", "code": "not_found", "message": "Not Found", "hint": "", "fields": [],
    }  # fmt: skip
