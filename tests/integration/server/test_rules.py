"""Rules over HTTP."""

import pytest
from tests.integration.server.owners import believing, told

from long_running_agents.testing import say

pytestmark = pytest.mark.anyio


async def test_a_suggestion_is_listed_accepted_enforced_and_lifted(tmp_path):
    async with believing(tmp_path, say("Yes.")) as (app, client):
        turn = await told(app, "Hello. Never open evil.com.")
        ask = client()
        found = await ask.ok("GET", "/api/rules?session_id=s1")
        [rule] = found["rules"]
        assert (rule["text"], rule["state"], rule["offer"]) == (
            "Never open evil.com.",
            "suggested",
            [],
        )
        assert (rule["turn_id"], rule["source"], found["most_tokens"]) == (turn.id, "detector", 800)
        path = f"/api/rules/{rule['id']}"
        accepted = await ask.ok("PATCH", path, json={"state": "active"})
        assert accepted["offer"] == ["deny * evil.com", "deny * *.evil.com"]
        enforced = await ask.ok("PATCH", path, json={"enforced": True})
        assert (enforced["offer"], len(enforced["enforced"])) == ([], 2)
        assert (await ask.ok("PATCH", path, json={"enforced": False}))["enforced"] == []
        assert await ask.refused("PATCH", path, json={"state": "dismissed"}) == (409, "busy")
        lifted = await ask.ok("PATCH", path, json={"state": "lifted"})
        assert (lifted["state"], lifted["ended_at"] is None) == ("lifted", False)
        assert (await ask.ok("GET", "/api/rules"))["rules"] == []
        assert len((await ask.ok("GET", "/api/rules?ended=true"))["rules"]) == 1
        heard = [
            each.event.state
            for each in await app.sessions.events("s1")
            if each.event.type == "rule"
        ]
        assert heard == ["suggested", "active", "active", "active", "lifted"]


async def test_a_rule_is_pinned_by_whoever_may_approve_and_by_nobody_else(tmp_path):
    new = {"text": "Be brief.", "session_id": "s1"}
    async with believing(tmp_path) as (_, client):
        assert (await client(scopes="read chat").refused("POST", "/api/rules", json=new))[0] == 403
        pinned = await client(scopes="read approve").ok("POST", "/api/rules", json=new)
        path = f"/api/rules/{pinned['id']}"
        refused = await client(scopes="read chat").refused("PATCH", path, json={"state": "lifted"})
        assert refused[0] == 403
        assert await client().refused("POST", "/api/rules", json={"text": "  "}) == (
            400,
            "bad_request",
        )
        full = await client().refused("POST", "/api/rules", json={"text": "x" * 3000})
        assert full == (400, "bad_request")
        unknown = {"text": "x", "turn_id": "turn_x"}
        assert (await client().refused("POST", "/api/rules", json=unknown))[0] == 404
        assert (await client().refused("PATCH", "/api/rules/99", json={}))[0] == 404
