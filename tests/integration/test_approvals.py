"""Questions that wait for a person, and their answers."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from tests.integration.stories import SESSION, ended, hands, hear, told
from tests.integration.web import FAKED, Hands

from long_running_agents.domain.approval import GrantDuration
from long_running_agents.domain.events import ApprovalRequested, TurnDone
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import TurnOrigin, TurnStatus
from long_running_agents.errors import Busy, NotFound, UsageError
from long_running_agents.library import AgentDeps, StructuredMemoryStore, run_agent
from long_running_agents.store import approvals, decisions, ledger
from long_running_agents.testing import FrozenClock, ScriptedModel, call, calls, make_app, say

pytestmark = pytest.mark.anyio

ASKING = {"agent__tools__require_approval": ["create_task"]}


async def log_of(app, owner="me"):
    found = await app.database.read(lambda tx: decisions.newest(tx, owner, limit=100))
    return [(each.decision, each.who, each.why) for each in reversed(found)]


async def test_an_unanswered_question_survives_a_restart(tmp_path):
    model = ScriptedModel([call("create_task", title="Milk"), say("On the list.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "Add milk")
        assert turn.status is TurnStatus.WAITING
    async with make_app(tmp_path, model=model, **ASKING) as app:
        [question] = await app.turns.open_questions(SESSION)
        assert question.tool == "create_task"
        assert "Milk" in question.args
        await app.turns.answer(question.id, allowed=True)
        turn = await app.turns.settled(turn.id)
        assert turn.answer == "On the list."
        assert [task.title for task in await app.sessions.tasks(SESSION)] == ["Milk"]


async def test_a_denial_and_its_reason_reach_the_model(tmp_path):
    model = ScriptedModel([call("create_task", title="Gin"), say("As you wish.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "Add gin")
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=False, reason="not on a Monday")
        turn = await app.turns.settled(turn.id)
        assert turn.answer == "As you wish."
        assert "not on a Monday" in str(model.requests[1][-1].parts[0].content)
        assert await app.sessions.tasks(SESSION) == []
        rows = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
        assert rows[0].state is CallState.DENIED


async def test_what_needs_no_question_runs_meanwhile_and_runs_once(tmp_path):
    ran = []

    async def look() -> str:
        ran.append(1)
        return "seen"

    model = ScriptedModel([calls(call("look"), call("create_task", title="x")), say("Done.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(look)], **ASKING) as app:
        turn = await ended(app, "go")
        assert turn.status is TurnStatus.WAITING
        assert ran == [1]
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(turn.id)).answer == "Done."
        assert ran == [1]


async def test_nobody_there_means_no(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("I was not allowed to.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "go", attended=False)
        assert turn.status is TurnStatus.DONE
        assert "nobody is there" in str(model.requests[1][-1].parts[0].content)


async def test_a_tool_that_is_not_on_the_list_is_refused(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("No.")])
    async with make_app(tmp_path, model=model, agent__tools__allow=["list_tasks"]) as app:
        assert (await ended(app, "go")).answer == "No."
        assert await app.sessions.tasks(SESSION) == []


async def test_a_question_is_answered_once(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("ok")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "go")
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True)
        with pytest.raises(Busy, match="answered already"):
            await app.turns.answer(question.id, allowed=False)
        await app.turns.settled(turn.id)


async def test_stopping_a_waiting_turn_withdraws_its_question(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("New start.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        await ended(app, "go")
        await app.turns.stop(SESSION)
        assert await app.turns.open_questions() == []
        assert (await ended(app, "again")).answer == "New start."


async def test_a_message_behind_a_waiting_turn_keeps_its_place(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("first"), say("second")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        first = await ended(app, "one")
        second = await app.turns.start(SESSION, "two")
        [question] = await app.turns.open_questions()
        assert (await app.turns.get(second.id)).status is TurnStatus.QUEUED
        await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(first.id)).answer == "first"
        assert (await app.turns.settled(second.id)).answer == "second"


async def test_a_question_expires_while_the_home_is_open(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([call("create_task", title="x"), say("Nobody came.")])
    async with make_app(
        tmp_path, model=model, clock=clock, agent__tools__approval_expiry=30, **ASKING
    ) as app:
        turn = await ended(app, "go")
        [question] = await app.turns.open_questions()
        assert question.expires_at - question.asked_at == timedelta(minutes=30)
        resting = asyncio.create_task(hear(app, TurnDone))
        await clock.advance(29 * 60)
        assert (await app.turns.get(turn.id)).status is TurnStatus.WAITING
        await clock.advance(60)
        assert (await resting).text == "Nobody came."
        assert "nobody answered in time" in str(model.requests[1][-1].parts[0].content)
        assert await app.sessions.tasks(SESSION) == []
        assert await log_of(app) == [
            ("ask", "rule", "'create_task' is in agent.tools.require_approval"),
            ("deny", "policy", "nobody answered in time"),
        ]


async def test_a_question_that_expired_before_its_turn_came_to_rest_is_no_rest(tmp_path):
    clock = FrozenClock()

    async def wait_long() -> str:
        await hear(app, ApprovalRequested)
        await clock.advance(90)
        return "at last"

    both = calls(call("create_task", title="x"), call("wait_long"))
    model = ScriptedModel([both, say("Nobody came.")])
    options = {"toolsets": [hands(wait_long)], "agent__tools__approval_expiry": 1, **ASKING}
    async with make_app(tmp_path, model=model, clock=clock, **options) as app:
        turn = await ended(app, "go")

        assert (turn.status, turn.answer) == (TurnStatus.DONE, "Nobody came.")


async def test_a_question_expires_while_the_home_is_closed(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([call("create_task", title="x"), say("Nobody came.")])
    async with make_app(tmp_path, model=model, clock=clock, **ASKING) as app:
        turn = await ended(app, "go")
    # A day is the default.
    await clock.advance(24 * 3600)
    async with make_app(tmp_path, model=model, clock=clock, **ASKING) as app:
        assert (await app.turns.settled(turn.id)).answer == "Nobody came."


async def test_an_answer_that_comes_too_late_is_none(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([call("create_task", title="x"), say("Nobody came.")])
    async with make_app(tmp_path, model=model, clock=clock, **ASKING) as app:
        turn = await ended(app, "go")
        [question] = await app.turns.open_questions()
        # The machine slept: its clock has moved, and no alarm has rung.
        clock.set(clock.now() + timedelta(days=2))
        with pytest.raises(Busy, match="expired"):
            await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(turn.id)).answer == "Nobody came."
        assert await app.sessions.tasks(SESSION) == []


async def test_a_question_can_wait_for_ever(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([call("create_task", title="x"), say("At last.")])
    async with make_app(
        tmp_path, model=model, clock=clock, agent__tools__approval_expiry=0, **ASKING
    ) as app:
        turn = await ended(app, "go")
        await clock.advance(400 * 24 * 3600)
        [question] = await app.turns.open_questions()
        assert question.expires_at is None
        await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(turn.id)).answer == "At last."


async def test_a_grant_for_always_is_used_counted_and_revoked(tmp_path):
    model = ScriptedModel(
        [
            *[call("create_task", title="a"), say("1"), call("create_task", title="b"), say("2")],
            *[call("create_task", title="c"), say("3")],
        ]
    )
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "one")
        [question] = await app.turns.open_questions()
        assert str(question.offer) == "create_task"
        await app.turns.answer(question.id, allowed=True, lasting=GrantDuration.ALWAYS)
        assert (await app.turns.settled(turn.id)).answer == "1"
        [granted] = await app.database.read(lambda tx: approvals.of_owner(tx, "me"))
        assert (granted.session_id, granted.used) == (None, 0)

        assert (await ended(app, "two", session="other")).answer == "2"
        [granted] = await app.database.read(lambda tx: approvals.of_owner(tx, "me"))
        assert granted.used == 1
        now = datetime(2026, 1, 5, tzinfo=UTC)
        await app.database.write(lambda tx: approvals.revoke(tx, "me", granted.id, now))

        assert (await ended(app, "three", session="third")).status is TurnStatus.WAITING
        assert await log_of(app) == [
            ("ask", "rule", "'create_task' is in agent.tools.require_approval"),
            ("allow", "person", "allowed (always)"),
            ("allow", "grant", f"{granted.id}: create_task"),
            ("ask", "rule", "'create_task' is in agent.tools.require_approval"),
        ]


async def test_a_grant_for_a_session_ends_with_it(tmp_path):
    model = ScriptedModel(
        [
            *[call("create_task", title="a"), say("1"), call("create_task", title="b"), say("2")],
            call("create_task", title="c"),
        ]
    )
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "one")
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True, lasting=GrantDuration.SESSION)
        assert (await app.turns.settled(turn.id)).answer == "1"
        assert (await ended(app, "two")).answer == "2"
        assert (await ended(app, "three", session="other")).status is TurnStatus.WAITING
        await app.sessions.delete(SESSION)
        assert await app.database.read(lambda tx: approvals.of_owner(tx, "me")) == []


async def test_a_lasting_answer_is_good_for_the_calls_that_wait_beside_it(tmp_path):
    two = calls(call("create_task", title="a"), call("create_task", title="b"))
    model = ScriptedModel([two, say("Both.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "go")
        first, _ = await app.turns.open_questions()
        await app.turns.answer(first.id, allowed=True, lasting=GrantDuration.SESSION)
        assert (await app.turns.settled(turn.id)).answer == "Both."
        assert len(await app.sessions.tasks(SESSION)) == 2


async def test_what_must_be_looked_at_each_time_cannot_be_granted(tmp_path):
    hands = Hands()
    model = ScriptedModel([call("shell", command="rm -rf / && $X"), say("ok")])
    async with make_app(tmp_path, model=model, toolsets=[hands.toolset()], **FAKED) as app:
        turn = await ended(app, "go")
        [question] = await app.turns.open_questions()
        assert question.offer is None
        assert [each.scope for each in await told(app, ApprovalRequested)] == [""]
        with pytest.raises(UsageError, match="once only"):
            await app.turns.answer(question.id, allowed=True, lasting=GrantDuration.ALWAYS)
        assert hands.done == []
        await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(turn.id)).answer == "ok"
        assert hands.done == [("shell", "rm -rf / && $X")]


async def test_questions_and_grants_are_their_owners(tmp_path):
    model = ScriptedModel(
        [call("create_task", title="a"), say("1"), call("create_task", title="b")]
    )
    async with make_app(tmp_path, model=model, owner="ada", **ASKING) as app:
        turn = await ended(app, "one")
        [question] = await app.turns.open_questions()
    async with make_app(tmp_path, model=model, owner="bob", **ASKING) as app:
        assert await app.turns.open_questions() == []
        with pytest.raises(NotFound):
            await app.turns.answer(question.id, allowed=True)
    async with make_app(tmp_path, model=model, owner="ada", **ASKING) as app:
        await app.turns.answer(question.id, allowed=True, lasting=GrantDuration.ALWAYS)
        await app.turns.settled(turn.id)
        assert await log_of(app, "bob") == []
    async with make_app(tmp_path, model=model, owner="bob", **ASKING) as app:
        assert (await ended(app, "two", session="bobs")).status is TurnStatus.WAITING


async def test_an_unattended_turn_can_wait_for_somebody(tmp_path):
    model = ScriptedModel([call("create_task", title="x"), say("Thanks.")])
    async with make_app(
        tmp_path, model=model, agent__tools__non_interactive_approval_policy="ask", **ASKING
    ) as app:
        assert (await ended(app, "go", attended=False)).status is TurnStatus.WAITING


async def test_every_decision_is_logged_without_secrets_and_survives_its_session(tmp_path):
    key = "sk-ant-api03-abcdefghijklmnop1234"
    hands = Hands()
    model = ScriptedModel(
        [call("shell", command=f"echo {key}"), call("shell", command="rm -rf /"), say("ok")]
    )
    async with make_app(tmp_path, model=model, toolsets=[hands.toolset()], **FAKED) as app:
        assert (await ended(app, "go", attended=False)).answer == "ok"
        log = await app.database.read(lambda tx: decisions.newest(tx, "me", limit=10))
        assert [(each.decision, each.tool, each.who) for each in log] == [
            ("deny", "shell", "policy"),
            ("allow", "shell", "policy"),
        ]
        assert "outside the workspace" in log[0].why
        assert key not in str(log)
        await app.sessions.delete(SESSION)
        log = await app.database.read(lambda tx: decisions.newest(tx, "me", limit=10))
        assert [(each.tool, each.args, each.why) for each in log] == [("shell", "", "")] * 2


@pytest.mark.parametrize("origin", TurnOrigin)
@pytest.mark.parametrize("attended", [True, False])
async def test_a_forbidden_call_is_refused_whoever_began_the_turn(tmp_path, origin, attended):
    hands = Hands()
    model = ScriptedModel([call("shell", command="env sh -c 'curl x'"), say("No.")])
    async with make_app(
        tmp_path,
        model=model,
        toolsets=[hands.toolset()],
        **FAKED,
        agent__tools__rules=[{"decision": "deny", "program": "curl", "reason": "use web_fetch"}],
        agent__tools__non_interactive_approval_policy="allow",
    ) as app:
        assert (await ended(app, "go", origin=origin, attended=attended)).answer == "No."
        assert "use web_fetch" in str(model.requests[1][-1].parts[0].content)
        assert hands.done == []


async def test_the_library_says_that_a_turn_waits(tmp_path):
    model = ScriptedModel([call("create_task", title="x")])
    environ = {
        "LRA_HOME": str(tmp_path),
        "LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "create_task",
        "LRA_AGENT__TOOLS__NON_INTERACTIVE_APPROVAL_POLICY": "ask",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        store = StructuredMemoryStore(model=model)
        await store.init_db()
        with pytest.raises(Busy, match="waits for an answer"):
            await run_agent("go", AgentDeps("s", structured_store=store))
        await store.close()


async def test_a_call_whose_secret_was_not_kept_is_not_run_with_a_mark_in_its_place(tmp_path):
    secret = "sk-ant-abcdefghijklmnopqrstuvwx"
    model = ScriptedModel([call("write_file", path="key.txt", content=secret), say("I see.")])
    async with make_app(
        tmp_path, model=model, agent__tools__require_approval=["write_file"]
    ) as app:
        turn = await ended(app, "Write it down")
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True)
        await app.turns.settled(turn.id)

    [answer] = model.requests[-1][-1].parts
    assert "secret" in answer.content
    assert not (tmp_path / "workspace" / "key.txt").exists()
