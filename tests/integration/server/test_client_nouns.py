"""The client's nouns against the routes of a real server: sessions, approvals, memories, models."""

import pytest
from tests.integration.server.serving import served
from tests.integration.stories import SESSION, hands

from long_running_agents import api
from long_running_agents.client import Client
from long_running_agents.clock import SystemClock
from long_running_agents.domain.approval import GrantDuration
from long_running_agents.domain.memory import (
    MemoryDraft,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Viewer,
)
from long_running_agents.domain.rule import RuleState
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import Busy, NotFound, UsageError
from long_running_agents.server.asgi import api as server_api
from long_running_agents.testing import call, make_app, say

pytestmark = pytest.mark.anyio
ME = Viewer(owner="me")


def at(http):
    return Client.at(str(http.base_url))


async def test_sessions_are_what_the_home_says_they_are(tmp_path):
    async with served(tmp_path, say("Hello there.")) as (app, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Hi")
        await client.turns.settled(turn.id)
        assert await client.sessions.find("nobody") is None
        assert await client.sessions.get(SESSION) == await app.sessions.get(SESSION)
        assert await client.sessions.newest() == await app.sessions.newest()
        assert list(await client.sessions.previews()) == list(await app.sessions.previews())
        assert await client.sessions.previews(search="nothing like it") == []
        [told] = await client.sessions.turns(SESSION)
        assert (told.id, told.answer, told.status) == (turn.id, "Hello there.", TurnStatus.DONE)
        await client.sessions.rename(SESSION, "Herons")
        assert (await app.sessions.get(SESSION)).title == "Herons"
        copy = await client.sessions.fork(SESSION)
        assert copy.forked_from == SESSION
        exported = await client.sessions.export(SESSION, "md")
        assert exported == await app.sessions.export(SESSION, "md")
        lines = await client.sessions.export(SESSION, "jsonl")
        assert (await client.sessions.take_over(lines)).title == "Herons"
        await client.sessions.delete(SESSION)
        with pytest.raises(NotFound):
            await app.sessions.get(SESSION)


async def test_tasks_are_told_whole(tmp_path):
    plan = call("create_task", title="Buy milk")
    async with served(tmp_path, plan, say("Planned.")) as (app, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Plan")
        await client.turns.settled(turn.id)
        assert list(await client.sessions.tasks(SESSION)) == list(await app.sessions.tasks(SESSION))
        assert [task.title for task in await client.sessions.tasks(SESSION)] == ["Buy milk"]


async def test_rules_are_pinned_enforced_and_lifted_as_at_home(tmp_path):
    async with served(tmp_path, say("Yes.")) as (app, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Never be late.")
        await client.turns.settled(turn.id)
        rule = await client.rules.pin("Never open evil.com.", session_id=SESSION, turn_id=turn.id)
        assert rule == (await app.rules.every(SESSION))[-1]
        rule = await client.rules.change(rule.id, enforced=True)
        assert [each.host for each in rule.enforced] == ["evil.com", "*.evil.com"]
        assert list(await client.rules.every(SESSION)) == list(await app.rules.every(SESSION))
        await client.rules.change(rule.id, state=RuleState.LIFTED)
        assert [each.text for each in await client.rules.every()] == ["Never be late."]
        assert len(await client.rules.every(ended=True)) == 2
        with pytest.raises(Busy, match="cannot become"):
            await client.rules.change(rule.id, state=RuleState.ACTIVE)
        with pytest.raises(UsageError, match="800"):
            await client.rules.pin("x" * 3000)


async def test_a_context_is_checked_as_at_home(tmp_path):
    replies = [say("Hello there."), say("They said: Hi herons"), say("I do not know.")]
    async with served(tmp_path, *replies) as (_, http), at(http) as client:
        turn = await client.turns.start(SESSION, "Hi herons")
        await client.turns.settled(turn.id)
        first, last = await client.sessions.check(SESSION)
        assert (first.kind, first.expected, first.missing) == ("recall", ("Hi herons",), ())
        assert (last.kind, last.missing) == ("continuation", ("Hi herons",))
        with pytest.raises(NotFound):
            await client.sessions.check("nobody")


async def test_a_question_is_answered_and_its_grant_revoked(tmp_path):
    def clean() -> str:
        """Clean up."""
        return "clean"

    settings = {"toolsets": [hands(clean)], "agent__tools__require_approval": ["clean"]}
    replies = [call("clean"), say("Clean.")]
    async with served(tmp_path, *replies, **settings) as (app, http), at(http) as client:
        assert await client.turns.open_questions(SESSION) == []
        turn = await client.turns.start(SESSION, "Clean up")
        assert (await client.turns.settled(turn.id)).status is TurnStatus.WAITING
        [asked] = await client.turns.open_questions(SESSION)
        [stored] = await app.turns.open_questions(SESSION)
        assert (asked.id, asked.args, str(asked.offer)) == (
            stored.id,
            stored.args,
            str(stored.offer),
        )
        await client.turns.answer(asked.id, allowed=True, lasting=GrantDuration.SESSION)
        assert (await client.turns.settled(turn.id)).answer == "Clean."
        grants = (await http.get("/api/grants")).json()["grants"]
        assert await client.revoke(grants[0]["id"]) == str(stored.offer)
        with pytest.raises(NotFound):
            await client.revoke("grant_x")


async def test_memories_are_written_found_corrected_forgotten_and_brought_back(tmp_path):
    async with served(tmp_path) as (_, http), at(http) as client:
        memories = client.memories
        written = await memories.write(ME, MemoryDraft(content="The heron eats frogs at the mill."))
        assert isinstance(written, Stored)
        same = await memories.write(ME, MemoryDraft(content="The heron eats frogs at the mill."))
        assert isinstance(same, Merged)
        alike = await memories.write(
            ME, MemoryDraft(content="The heron eats frogs at the old mill.")
        )
        assert isinstance(alike, Similar)
        assert [memory.id for memory in alike.memories] == [written.memory.id]
        assert isinstance(await memories.write(ME, MemoryDraft(content="?")), Refused)
        corrected = await memories.correct(
            ME, written.memory.id, "The heron eats fish at the mill."
        )
        assert isinstance(corrected, Stored)
        assert corrected.superseded.id == written.memory.id
        found = await memories.find(ME, Query(text="What does the heron eat?"))
        assert [hit.memory.content for hit in found.hits][:1] == [
            "The heron eats fish at the mill."
        ]
        off = await memories.switch(ME, corrected.memory.id, enabled=False)
        assert not off.enabled
        assert (await memories.find(ME, Query(text="What does the heron eat?"))).hits == ()
        again = await memories.find(ME, Query(text="What does the heron eat?", disabled=True))
        assert [hit.memory for hit in again.hits] == [off]
        gone = await memories.forget("me", Selection(ids=frozenset({corrected.memory.id})))
        assert corrected.memory.id in {memory.id for memory in gone.memories}
        back = await memories.undo("me", gone.batch)
        assert {memory.id for memory in back} == {memory.id for memory in gone.memories}
        with pytest.raises(NotFound):
            await memories.correct(ME, 999, "Nothing is true instead.")


async def test_a_server_says_what_it_is_and_which_models_it_has(tmp_path):
    async with served(tmp_path) as (app, http), at(http) as client:
        status = await client.status()
        assert status.agent == app.settings.agent.name
        assert status.model in await client.models() or status.model == ""


async def test_every_request_that_a_protocol_names_is_one_that_the_server_answers(tmp_path):
    async with make_app(tmp_path) as app:
        described = server_api(app, SystemClock()).openapi()["paths"]
    marked = [
        (protocol.__name__, name, *getattr(method, api.REQUEST))
        for protocol in (api.TurnApi, api.SessionApi, api.MemoryApi, api.SkillApi)
        for name, method in vars(protocol).items()
        if hasattr(method, api.REQUEST)
    ]
    assert len(marked) > 20
    for protocol, name, asked, _, _ in marked:
        method, _, path = asked.partition(" ")
        assert method.lower() in described.get(path, {}), (protocol, name, asked)
