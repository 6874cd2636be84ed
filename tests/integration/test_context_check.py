"""Probe questions: whether a model can answer from what its next request would show."""

import pytest
from sqlalchemy import func, select
from tests.integration.stories import SESSION, ended
from tests.integration.test_compaction import Talker, honest, talking

from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import NotConfigured, NotFound
from long_running_agents.store import messages
from long_running_agents.store.tables import usage
from long_running_agents.testing import Quirk, ScriptedServer, call, make_app, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

COUNT = select(func.count()).select_from(usage)
RULE = "Never change vault/, please."
BEGAN = "Make the report R-7001 about the kestrel house."


class Asked(Talker):
    """Works as it is told to, and answers questions about it."""

    def __init__(self, answer):
        super().__init__(honest)
        self.answer, self.work = answer, []

    def reply_for(self, seen, served=None):
        if "A question about the conversation above" in str(seen[-1]["content"]):
            return say(self.answer(seen))
        if seen[-1]["role"] == "user" and seen[-1]["content"].startswith("Do"):
            return self.work.pop(0)
        return super().reply_for(seen)


def reading(seen):
    """All that was shown: what is not there cannot be said."""
    return "\n".join(str(each["content"]) for each in seen)


async def worked(app, talker):
    """A session with something of each kind."""
    rule = await app.rules.pin(RULE, session_id=SESSION)
    await app.rules.change(rule.id, enforced=True)
    await ended(app, BEGAN)
    for work in (
        call("write_file", path="house/report.md", content="42"),
        call("create_task", title="Count the windows of the kestrel house"),
        call("create_task", title="Find the key of the gate"),
        call("update_task_status", task_id=2, status="completed", result="It is under stone 9."),
        call("write_file", path="vault/keys.md", content="x"),
    ):
        talker.work.append(work)
        await ended(app, "Do it.")


async def test_a_model_that_reads_passes_every_kind_after_compaction(tmp_path):
    talker = Asked(reading)
    async with (
        ScriptedServer(talker, quirks=[Quirk.NO_USAGE]) as server,
        talking(tmp_path, server, 8192) as app,
    ):
        await worked(app, talker)
        for number in range(24):
            await ended(app, f"Tell me story number {number}.")
        await app.compactor.done()
        seen = (await app.contexts.next(SESSION)).context
        found = await app.contexts.check(SESSION)

    assert "left out here" in seen.block
    assert BEGAN in seen.block
    assert [each.kind for each in found] == [
        "recall", "recall", "artifact", "continuation", "decision", "decision",
    ]  # fmt: skip
    assert {each.question: each.missing for each in found if each.missing} == {}
    assert [each.expected for each in found] == [
        (RULE,),
        (BEGAN,),
        ("house/report.md",),
        ("Count the windows of the kestrel house",),
        ("Find the key of the gate", "It is under stone 9."),
        ("write_file", "vault/keys.md"),
    ]


async def test_what_an_answer_lacks_is_named_and_nothing_enters_the_session(tmp_path):
    talker = Asked(lambda _: "The report is house/report.md; more is not known.")
    async with ScriptedServer(talker) as server, talking(tmp_path, server, 100_000) as app:
        await worked(app, talker)

        def state(tx):
            return messages.count(tx, SESSION), tx.execute(COUNT).scalar_one()

        before = await app.database.read(state)
        events = await app.sessions.last_event(SESSION)
        found = await app.contexts.check(SESSION)
        log, spent = await app.database.read(state)
        assert (log, spent) == (before[0], before[1] + len(found))
        assert await app.sessions.last_event(SESSION) == events

    assert [each.kind for each in found if not each.missing] == ["artifact"]
    assert [each.missing for each in found if each.kind == "recall"] == [(RULE,), (BEGAN,)]


async def test_a_session_with_little_is_asked_little(tmp_path):
    talker = Asked(reading)
    async with ScriptedServer(talker) as server, talking(tmp_path, server, 100_000) as app:
        await app.sessions.ensure(SESSION)
        assert await app.contexts.check(SESSION) == []
        await ended(app, "Hello there.")
        await ended(app, "What is new?")
        found = await app.contexts.check(SESSION)
        with pytest.raises(NotFound):
            await app.contexts.check(SessionId("nobody"))
        with pytest.raises(NotFound):
            await app.contexts.of("you").check(SESSION)
    assert [(each.kind, each.expected, each.missing) for each in found] == [
        ("recall", ("Hello there.",), ()),
        ("continuation", ("What is new?",), ()),
    ]


async def test_without_a_model_there_is_nobody_to_ask(tmp_path):
    async with make_app(tmp_path, agent__model__model_id="") as app:
        await app.sessions.ensure(SESSION)
        with pytest.raises(NotConfigured):
            await app.contexts.check(SESSION)
