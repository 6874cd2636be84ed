"""Approvals and grants over HTTP."""

import pytest
from tests.integration.server.owners import believing, told

from long_running_agents.clock import SystemClock
from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.store import approvals
from long_running_agents.testing import call, say

pytestmark = pytest.mark.anyio

ASKING = {"agent__tools__require_approval": ["create_task"]}


async def test_a_question_is_seen_answered_and_the_turn_goes_on(tmp_path):
    replies = [call("create_task", title="Milk"), say("On the list.")]
    async with believing(tmp_path, *replies, **ASKING) as (app, client):
        turn = await told(app, "Add milk")
        assert turn.status is TurnStatus.WAITING
        ask = client()
        [question] = (await ask.ok("GET", "/api/approvals?session_id=s1"))["approvals"]
        assert (question["tool"], question["input"]) == ("create_task", {"title": "Milk"})
        path = f"/api/approvals/{question['id']}"
        done = await ask.ok("POST", path, json={"allowed": True, "lasting": "session"})
        assert (done["state"], done["lasting"]) == ("allowed", "session")
        assert (await app.turns.settled(turn.id)).answer == "On the list."
        assert await ask.refused("POST", path, json={"allowed": True}) == (409, "busy")
        [grant] = (await ask.ok("GET", "/api/grants"))["grants"]
        assert (grant["session_id"], grant["tool"]) == ("s1", "create_task")
        revoked = await ask.ok("DELETE", f"/api/grants/{grant['id']}")
        assert revoked["revoked_at"] is not None
        assert (await ask.ok("GET", "/api/grants"))["grants"] == []
        assert len((await ask.ok("GET", "/api/grants?revoked=true"))["grants"]) == 1
        decided = (await ask.ok("GET", "/api/approvals/log"))["log"]
        assert decided[0]["who"] == "person"


async def test_a_no_and_its_reason_are_kept(tmp_path):
    replies = [call("create_task", title="Gin"), say("As you wish.")]
    async with believing(tmp_path, *replies, **ASKING) as (app, client):
        turn = await told(app, "Add gin")
        ask = client()
        [question] = (await ask.ok("GET", "/api/approvals"))["approvals"]
        no = {"allowed": False, "reason": "not on a Monday"}
        done = await ask.ok("POST", f"/api/approvals/{question['id']}", json=no)
        assert (done["state"], done["reason"]) == ("denied", "not on a Monday")
        assert (await app.turns.settled(turn.id)).answer == "As you wish."
        assert await app.sessions.tasks("s1") == []


async def test_only_those_who_may_approve_do(tmp_path):
    replies = [call("create_task", title="Milk"), say("No.")]
    async with believing(tmp_path, *replies, **ASKING) as (app, client):
        await told(app, "Add milk")
        [question] = (await client().ok("GET", "/api/approvals"))["approvals"]
        path, yes = f"/api/approvals/{question['id']}", {"allowed": True}
        for scopes in ("read", "read chat", "read chat admin", "chat"):
            ask = client(scopes=scopes)
            assert await ask.refused("POST", path, json=yes) == (403, "denied")
        assert await client("you").refused("POST", path, json=yes) == (404, "not_found")
        assert len((await client().ok("GET", "/api/approvals"))["approvals"]) == 1


@pytest.mark.parametrize("odd", ['{"title": "\\ud800"}', '{"title": NaN}', "{"])
async def test_a_question_about_odd_arguments_is_told_all_the_same(tmp_path, odd):
    async with believing(tmp_path, say("Hi.")) as (app, client):
        turn = await told(app, "Hello")
        now = SystemClock().now()
        asked = Approval(
            id="approval_1", session_id="s1", turn_id=turn.id, call_id="c", tool="t", args=odd,
            question="?", state=ApprovalState.OPEN, asked_at=now,
        )  # fmt: skip
        await app.database.write(lambda tx: approvals.ask(tx, asked))
        [question] = (await client().ok("GET", "/api/approvals"))["approvals"]
        assert question["input"] == odd
