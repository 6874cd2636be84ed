"""Works as a program asks for them: how far each is, and where it is talked about."""

import pytest
from tests.integration.server.owners import believing

pytestmark = pytest.mark.anyio

PLAN = [{"title": "Count", "criterion": {"kind": "file", "path": "birds.csv"}}]


async def test_a_list_of_works_says_how_far_each_is_and_a_new_session_is_the_callers(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client("you")
        work = await ask.ok("POST", "/api/works", json={"goal": "Count", "plan": PLAN})
        listed = await ask.ok("GET", "/api/works")
        session = await ask.ok("GET", f"/api/sessions/{work['session_id']}")

    assert [each["id"] for each in listed["works"]] == [work["id"]]
    assert listed["summaries"] == ["0 of 1 tasks proven"]
    assert session["id"] == work["session_id"]
