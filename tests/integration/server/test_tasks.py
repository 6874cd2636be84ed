"""Tasks over HTTP."""

import pytest
from tests.integration.server.owners import believing, told

from long_running_agents.testing import call, calls, say

pytestmark = pytest.mark.anyio


async def test_tasks_are_told_as_a_list_and_as_a_tree(tmp_path):
    replies = [
        call("create_task", title="Count"),
        call("create_task", title="Look", parent_id=1),
        say("Two."),
    ]
    async with believing(tmp_path, *replies) as (app, client):
        await told(app, "Plan it")
        found = await client().ok("GET", "/api/sessions/s1/tasks")
        every = await client().ok("GET", "/api/tasks")
    assert [task["title"] for task in found["tasks"]] == ["Count", "Look"]
    [root] = found["tree"]
    assert (root["title"], [child["title"] for child in root["children"]]) == ("Count", ["Look"])
    assert found["summary"] == "0 of 2 tasks completed"
    assert {task["title"] for task in every["tasks"]} == {"Count", "Look"}


async def test_a_person_moves_a_task_and_listeners_hear_of_it(tmp_path):
    both = calls(call("create_task", title="One"), call("create_task", title="Two"))
    async with believing(tmp_path, both, say("Done.")) as (app, client):
        await told(app, "Plan it")
        ask = client()
        path = "/api/sessions/s1/tasks/1"
        moved = await ask.ok("PATCH", path, json={"status": "completed", "title": "Once"})
        assert (moved["status"], moved["title"]) == ("completed", "Once")
        last = (await app.sessions.events("s1"))[-1].event
        assert last.type == "task_update"
        assert last.summary == "1 of 2 tasks completed"
        open_ones = await ask.ok("GET", "/api/tasks?status=pending&session_id=s1")
        assert len(open_ones["tasks"]) == 1
        page = await ask.ok("GET", "/api/tasks?limit=1")
        assert (len(page["tasks"]), page["next"]) == (1, 1)
        assert await ask.refused("PATCH", path, json={}) == (400, "bad_request")
        assert (await ask.refused("PATCH", path, json={"status": "spell"}))[0] == 422
        gone = await ask.refused("PATCH", "/api/sessions/s1/tasks/9", json={"title": "x"})
        assert gone == (404, "not_found")


async def test_a_chain_of_tasks_without_end_is_told_as_far_as_json_goes(tmp_path):
    async with believing(tmp_path) as (_, client):
        lines = [
            '{"kind": "session", "id": "deep", "title": "x", "created_at": "2026-01-01T00:00Z"}'
        ]
        lines += [
            f'{{"kind": "task", "number": {number}, "title": "x", "status": "pending",'
            f' "parent": {number - 1}}}'
            for number in range(1, 1500)
        ]
        await client().ok(
            "POST",
            "/api/sessions/import",
            content="\n".join(lines),
            headers={"content-type": "application/x-ndjson"},
        )
        found = await client().ok("GET", "/api/sessions/deep/tasks")
    assert len(found["tasks"]) == 1499
    depth, node = 0, found["tree"]
    while node:
        depth, node = depth + 1, node[0]["children"]
    assert depth == 50
