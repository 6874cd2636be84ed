"""What was learned: counted once, put aside when it is of no use, and taken back within 30 days."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete
from tests.integration.server.skills import CELSIUS
from tests.integration.stories import ended
from tests.integration.works.players import Player, carried_out
from tests.integration.works.stories import FILE, done, write

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import MemoryDraft, MemoryKind, Query, Trust, Viewer
from long_running_agents.domain.reflection import (
    Learned,
    LearnedKind,
    LearnedState,
)
from long_running_agents.domain.skill import SkillCreator, SkillDraft, SkillOrigin
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.store import learned as store
from long_running_agents.store import skills
from long_running_agents.store.job_tables import memory_uses
from long_running_agents.store.learned import MemoryUse
from long_running_agents.store.tables import memory_turns
from long_running_agents.testing import FrozenClock, ScriptedModel, make_app, say

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 6, 1, 9, tzinfo=UTC)
ME = Viewer()
BOAT = "The boat lies in Hamburg."


async def remembered(app, content=BOAT, **said):
    """A memory that the agent has noted, unless said otherwise."""
    draft = MemoryDraft(content=content, **{"trust": Trust.AGENT, "source": "conversation"} | said)
    return (await app.memories.write(ME, draft, keep_both=True)).memory


async def row(app, memory=None, **said):
    """Something that was learned."""
    number = None if memory is None else memory.id
    said = {"kind": LearnedKind.FACT, "state": LearnedState.NEW, "text": BOAT} | said
    found = Learned(number=0, memory_id=number, at=app.learned.curator.clock.now(), **said)
    return await app.database.write(lambda tx: store.add(tx, found))


async def counts(app, memory):
    """How often a memory was shown and used, and did harm."""
    found = await app.database.read(lambda tx: store.in_use(tx, "me", MemoryKind))
    [use] = [each for each in found if each.memory.id == memory.id]
    return use.shown, use.used, use.harmed


async def shown(app, memory, times):
    """Count a memory as shown so many times."""
    use, now = MemoryUse(memory=memory, shown=1), app.learned.curator.clock.now()

    def work(tx):
        for _ in range(times):
            store.count(tx, use, now)

    await app.database.write(work)


async def found(app, text=BOAT):
    hits = (await app.memories.find(ME, Query(text=text))).hits
    return [hit.memory.content for hit in hits]


async def test_a_memory_counts_how_often_it_was_shown_and_used(tmp_path):
    model = ScriptedModel([say("It lies in Hamburg."), say("No idea.")])
    async with make_app(tmp_path, model=model) as app:
        memory = await remembered(app)
        await ended(app, "Where is the boat?")
        await ended(app, "Is the boat well?", session=SessionId("other"))
        await app.remembered()
        assert await counts(app, memory) == (2, 1, 0)


async def test_a_turn_is_counted_once_whoever_looks_again(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("In Hamburg, it lies.")])) as app:
        memory = await remembered(app)
        await ended(app, "Where is the boat?")
        await app.remembered()
    for _ in range(2):
        async with make_app(tmp_path, model=ScriptedModel([])) as app:
            await app.remembered()
            assert await counts(app, memory) == (1, 1, 0)


async def test_who_died_before_a_turn_was_counted_counts_it_at_the_next_start(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("In Hamburg, it lies.")])) as app:
        memory = await remembered(app)
        await ended(app, "Where is the boat?")
        await app.remembered()
        # Both are written in one transaction.
        await app.database.write(lambda tx: tx.execute(delete(memory_turns)))
        await app.database.write(lambda tx: tx.execute(delete(memory_uses)))
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        await app.remembered()
        assert await counts(app, memory) == (1, 1, 0)


async def test_a_memory_did_harm_where_evidence_was_refuted(tmp_path):
    model = Player(write("out.txt", "a bittern"), done(1), write("out.txt", "a heron"), done(1))
    async with make_app(tmp_path, model=model) as app:
        memory = await remembered(app, "Herons are written about in lower case.")
        await carried_out(app, {"title": "Write about herons", "criterion": FILE})
        await app.remembered()
        times, _, harmed = await counts(app, memory)
    assert harmed >= 1
    assert times >= harmed


async def test_what_nobody_uses_rests_and_can_be_woken_for_thirty_days(tmp_path):
    clock = FrozenClock(NOW)
    async with make_app(tmp_path, clock=clock) as app:
        memory = await remembered(app)
        mine = await remembered(app, "The harbour closes.", trust=Trust.USER, source="user")
        for each in (memory, mine):
            await shown(app, each, 20)
        assert (await app.learned.curate()).learned == ()
        clock.set(NOW + timedelta(days=60))
        [rested] = (await app.learned.curate()).learned
        assert (rested.state, rested.text, rested.memory_id) == ("resting", BOAT, memory.id)
        assert "20 times" in rested.reason
        assert BOAT not in await found(app)
        [listed] = await app.learned.every(state=LearnedState.RESTING)
        assert (listed.number, listed.shown, listed.used) == (rested.number, 20, 0)

        clock.set(NOW + timedelta(days=90))
        assert (await app.learned.undo(rested.number)).text == BOAT
        assert BOAT in await found(app)
        assert (await app.learned.curate()).learned == ()
        with pytest.raises(NotFound):
            await app.learned.undo(rested.number)


async def test_after_thirty_days_what_rests_stays_at_rest(tmp_path):
    clock = FrozenClock(NOW)
    async with make_app(tmp_path, clock=clock) as app:
        await remembered(app, expires_at=NOW + timedelta(days=1))
        clock.set(NOW + timedelta(days=2))
        [rested] = (await app.learned.curate()).learned
        clock.set(NOW + timedelta(days=33))
        with pytest.raises(UsageError, match="after 30 days it stays"):
            await app.learned.undo(rested.number)


async def test_of_two_that_say_the_same_the_better_trusted_is_kept(tmp_path):
    async with make_app(tmp_path) as app:
        kept = await remembered(app, trust=Trust.USER, source="user")
        weaker = await remembered(app, "The boat lies, in Hamburg!")
        await remembered(app, "The boat lies in Bremen.")
        [rested] = (await app.learned.curate()).learned
        assert (rested.memory_id, rested.reason) == (weaker.id, f"#{kept.id} says the same")
        assert set(await found(app)) == {BOAT, "The boat lies in Bremen."}


async def test_what_was_learned_can_be_forgotten_and_goes_with_its_memory(tmp_path):
    async with make_app(tmp_path) as app:
        first, second = await remembered(app), await remembered(app, "The bittern booms.")
        learned = await row(app, first)
        await row(app, second, text="The bittern booms.", state=LearnedState.MERGED)
        undone = await app.learned.undo(learned.number)
        assert BOAT not in await found(app)
        assert [each.text for each in await app.learned.every()] == ["The bittern booms."]
        batch = undone.reason.split("'")[1].removeprefix("lra memory undo ")
        await app.memories.undo("me", batch)
        assert BOAT in await found(app)


@pytest.mark.parametrize("state", ["merged", "suggested", "refused", "new"])
async def test_what_cannot_be_taken_back_says_what_can(tmp_path, state):
    async with make_app(tmp_path) as app:
        found = await row(app, state=LearnedState(state))
        with pytest.raises(UsageError, match="nothing to take back") as refused:
            await app.learned.undo(found.number)
        assert "resting can be woken" in refused.value.hint


async def test_nobody_takes_back_what_another_owner_learned(tmp_path):
    async with make_app(tmp_path) as app:
        found = await row(app, await remembered(app))
        with pytest.raises(NotFound):
            await app.learned.of("you").undo(found.number)
        assert await app.learned.of("you").every() == []


async def test_a_skill_that_fails_too_often_is_disabled_and_can_be_enabled_again(tmp_path):
    async with make_app(tmp_path) as app:
        library = app.workshop.library
        brought = SkillOrigin(origin=SkillCreator.PERSON)
        await library.create(SkillDraft(source=CELSIUS, brought=brought), enable=True, by="person")

        def called(tx):
            for number in range(30):
                failed = number % 2 == 0
                skills.count(tx, "me", "celsius", failed=failed, now=NOW)

        await app.database.write(called)
        [rested] = (await app.learned.curate()).learned
        assert (rested.kind, rested.text) == (LearnedKind.SKILL, "celsius")
        assert rested.reason == "it failed in 10 of its last 20 calls"
        disabled = await library.get("celsius")
        assert (disabled.state, disabled.note) == ("disabled", rested.reason)
        await app.learned.undo(rested.number)
        assert (await library.get("celsius")).state == "enabled"
        assert (await app.learned.curate()).learned == ()


async def test_the_curator_works_once_a_week_whoever_has_died_meanwhile(tmp_path):
    clock = FrozenClock(NOW)
    async with make_app(tmp_path, clock=clock) as app:
        await remembered(app)
        await app.learned.curator.open()
        await remembered(app, "The boat lies, in Hamburg!")
    clock.set(NOW + timedelta(days=6))
    async with make_app(tmp_path, clock=clock) as app:
        await app.learned.curator.open()
        assert await app.learned.every() == []
    clock.set(NOW + timedelta(days=7))
    async with make_app(tmp_path, clock=clock) as app:
        await app.learned.curator.open()
        [rested] = await app.learned.every()
        assert rested.state is LearnedState.RESTING


async def test_without_memory_nothing_is_learned(tmp_path):
    async with make_app(tmp_path, memory__enabled=False) as app:
        assert "memory.enabled" in (await app.learned.reflect()).note
        assert (await app.learned.curate()).learned == ()
