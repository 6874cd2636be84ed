"""Every route asks for the scope that it says, on every way in."""

import pytest
from tests.integration.server.owners import believing

from long_running_agents.domain.auth import TokenScope

pytestmark = pytest.mark.anyio

OPEN = {"/health", "/ready", "/login", "/logout"}
NAMES = {
    "session_id": "s1",
    "turn_id": "t",
    "token_id": "t",
    "name": "x",
    "number": 1,
    "approval_id": "a",
    "rule_id": 1,
    "work_id": "w",
    "job_id": "j",
    "grant_id": "g",
    "batch": "b",
    "provider": "openai",
}
CHANGING = {"post", "put", "patch", "delete"}


async def test_a_token_without_the_scope_of_a_route_is_denied_there(tmp_path):
    async with believing(tmp_path) as (_, client):
        described = await client().ok("GET", "/openapi.json")
        for path, methods in described["paths"].items():
            for method, about in methods.items():
                if path in OPEN:
                    continue
                scope = about["x-scope"].split(";")[0]
                others = " ".join(each for each in TokenScope if each != scope)
                kinds = about.get("requestBody", {}).get("content", {"application/json": {}})
                told = await client(scopes=others)(
                    method.upper(),
                    path.format(**NAMES),
                    params={"path": "a.txt"},
                    content=b'{"model_id": "openai:x"}',
                    headers={"content-type": next(iter(kinds))},
                )
                body = told.json()
                assert told.status_code == 403, (method, path, body)
                assert body.get("error", body)["code"] == "denied", (method, path, body)


async def test_what_changes_something_takes_more_than_a_look(tmp_path):
    async with believing(tmp_path) as (_, client):
        described = await client().ok("GET", "/openapi.json")
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            if method in CHANGING and path not in OPEN:
                assert about["x-scope"] != "read", (method, path)
            assert about["summary"], path
            assert about["tags"], path
            assert {"4XX", "5XX"} <= set(about["responses"]), path
    names = [
        about["operationId"] for each in described["paths"].values() for about in each.values()
    ]
    assert len(names) == len(set(names))
